// Package proof answers: how can anyone check what an image is, and where it comes from?
//
// It makes the papers that go with an image: a bill of materials from the program's own build
// information, a statement of how it was built, and signatures with a key. It reads no clock and draws
// nothing at random: the same program and the same key give the same papers.
package proof

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// Key signs. It is an ECDSA key on P-256 with SHA-256, which is what cosign makes and takes.
type Key struct{ private *ecdsa.PrivateKey }

// ReadKey reads a private key from PEM: "openssl genpkey -algorithm EC -pkeyopt
// ec_paramgen_curve:P-256" and "openssl ecparam -genkey" write such.
func ReadKey(text []byte) (*Key, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var key any
		var err error
		switch block.Type {
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY",
			"ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY":
			return nil, errors.New("the key is encrypted: give it without a password, from a " +
				"store of secrets (openssl pkey -in KEY -out PLAIN)")
		default:
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the private key: %w", err)
		}
		private, ok := key.(*ecdsa.PrivateKey)
		if !ok || private.Curve != elliptic.P256() {
			return nil, errors.New("the private key is not one of ECDSA on the curve P-256")
		}
		return &Key{private}, nil
	}
	return nil, errors.New("no private key in PEM")
}

// Sign signs data. Signatures are deterministic (RFC 6979), because no source of chance is given.
func (k *Key) Sign(_ context.Context, data []byte) ([]byte, error) {
	sum := sha256.Sum256(data)
	return k.private.Sign(nil, sum[:], crypto.SHA256)
}

// KeyID is the digest of the public key.
func (k *Key) KeyID() (string, error) {
	der, err := x509.MarshalPKIXPublicKey(&k.private.PublicKey)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:]), nil
}

// Public is the public key as PEM, for cosign verify --key.
func (k *Key) Public() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(&k.private.PublicKey)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// Signature is a payload of cosign's simple signing and its signature in base64.
type Signature struct {
	Payload []byte
	Base64  string
}

// payload is the "simple signing" format of containers/image, docs/containers-signature.5.md.
type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]any `json:"optional"`
}

// SignImage signs that an image of this repository ("ghcr.io/o/n") has this digest ("sha256:…").
func SignImage(k *Key, repository, digest string) (*Signature, error) {
	var p payload
	p.Critical.Identity.Reference = repository
	p.Critical.Image.Digest = digest
	p.Critical.Type = "cosign container image signature"
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	sig, err := k.Sign(context.Background(), raw)
	if err != nil {
		return nil, err
	}
	return &Signature{raw, base64.StdEncoding.EncodeToString(sig)}, nil
}

// CheckImage reports why a payload and its signature do not prove the digest under a public key in PEM.
func CheckImage(public []byte, s Signature, digest string) error {
	key, err := publicKey(public)
	if err != nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(s.Base64)
	if err != nil {
		return fmt.Errorf("read the signature: %w", err)
	}
	sum := sha256.Sum256(s.Payload)
	if !ecdsa.VerifyASN1(key, sum[:], raw) {
		return errors.New("the signature is not one of this key")
	}
	var p payload
	if err := json.Unmarshal(s.Payload, &p); err != nil {
		return fmt.Errorf("read what was signed: %w", err)
	}
	if p.Critical.Image.Digest != digest {
		return fmt.Errorf("%s was signed, not %s", p.Critical.Image.Digest, digest)
	}
	return nil
}

func publicKey(text []byte) (*ecdsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("no public key in PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the public key: %w", err)
	}
	public, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return nil, errors.New("the public key is not one of ECDSA")
	}
	return public, nil
}

// Envelope signs a statement as DSSE does: what "cosign verify-attestation" reads.
func Envelope(ctx context.Context, k *Key, statement []byte) ([]byte, error) {
	signer, err := dsse.NewEnvelopeSigner(k)
	if err != nil {
		return nil, err
	}
	e, err := signer.SignPayload(ctx, PayloadType, statement)
	if err != nil {
		return nil, err
	}
	return json.Marshal(e)
}
