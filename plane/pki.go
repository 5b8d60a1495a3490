package plane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// certLife is long enough that no lab outlives its certificates; the directory goes long before.
const certLife = 10 * 365 * 24 * time.Hour

// pki is the plane's certificate authority, kept in files because the components read files. One CA signs the API
// server, its clients and, through the controller manager, kubelets.
type pki struct {
	dir   string
	ca    *x509.Certificate
	caKey crypto.Signer
	caPEM []byte
}

func (p *pki) path(name string) string { return filepath.Join(p.dir, name) }

// openPKI reads the CA in dir, or makes one when there is none. The key is written before the certificate, and the
// certificate is what is looked for: a death in between only costs a new key.
func openPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	p := &pki{dir: dir}
	certPEM, err := os.ReadFile(p.path("ca.crt"))
	if errors.Is(err, fs.ErrNotExist) {
		return p, p.create()
	}
	if err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(p.path("ca.key"))
	if err != nil {
		return nil, err
	}
	c, k := decodePEM(certPEM), decodePEM(keyPEM)
	if p.ca, err = x509.ParseCertificate(c); err != nil {
		return nil, fmt.Errorf("%s: %w", p.path("ca.crt"), err)
	}
	if p.caKey, err = x509.ParseECPrivateKey(k); err != nil {
		return nil, fmt.Errorf("%s: %w", p.path("ca.key"), err)
	}
	p.caPEM = certPEM
	return p, nil
}

func decodePEM(b []byte) []byte {
	block, _ := pem.Decode(b)
	if block == nil {
		return nil
	}
	return block.Bytes
}

// create makes the CA and the key that signs service account tokens.
func (p *pki) create() error {
	saKey, saPEM, err := newKey()
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(saKey.Public())
	if err != nil {
		return err
	}
	caKey, caKeyPEM, err := newKey()
	if err != nil {
		return err
	}
	p.caKey = caKey
	tmpl := template("karpenter-lab", nil)
	tmpl.IsCA, tmpl.BasicConstraintsValid = true, true
	tmpl.KeyUsage |= x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	caDER, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, caKey.Public(), caKey)
	if err != nil {
		return err
	}
	if p.ca, err = x509.ParseCertificate(caDER); err != nil {
		return err
	}
	p.caPEM = encode("CERTIFICATE", caDER)
	for _, f := range []struct {
		name string
		data []byte
	}{
		{"sa.key", saPEM},
		{"sa.pub", encode("PUBLIC KEY", der)},
		{"ca.key", caKeyPEM},
		{"ca.crt", p.caPEM}, // last: its presence says that the rest is there
	} {
		if err := os.WriteFile(p.path(f.name), f.data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// server makes a certificate for the given host names and IP addresses.
func (p *pki) server(name string, hosts []string) (cert, key []byte, err error) {
	t := template(name, nil)
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	return p.sign(t)
}

// client makes a certificate that says who its owner is.
func (p *pki) client(user string, groups ...string) (cert, key []byte, err error) {
	t := template(user, groups)
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return p.sign(t)
}

func (p *pki) sign(t *x509.Certificate) (cert, key []byte, err error) {
	k, keyPEM, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, p.ca, k.Public(), p.caKey)
	if err != nil {
		return nil, nil, err
	}
	return encode("CERTIFICATE", der), keyPEM, nil
}

// kubeconfig writes a self-contained kubeconfig for a user to a file, replacing it in one step: others may be reading it.
func (p *pki) kubeconfig(path, endpoint, user string, groups ...string) error {
	cert, key, err := p.client(user, groups...)
	if err != nil {
		return err
	}
	c := clientcmdapi.NewConfig()
	c.Clusters["lab"] = &clientcmdapi.Cluster{Server: endpoint, CertificateAuthorityData: p.caPEM}
	c.AuthInfos["lab"] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	c.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "lab"}
	c.CurrentContext = "lab"
	b, err := clientcmd.Write(*c)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func template(name string, groups []string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    now.Add(-time.Hour), // clocks of containers and hosts differ
		NotAfter:     now.Add(certLife),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		return nil, nil, err
	}
	return k, encode("EC PRIVATE KEY", der), nil
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
