package config

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// TestKeysThatAzureRefusesAreRefusedAtTheStart looks at one key of each kind.
func TestKeysThatAzureRefusesAreRefusedAtTheStart(t *testing.T) {
	line := func(public any, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		key, err := ssh.NewPublicKey(public)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	}
	bits := func(n int) string {
		k, err := rsa.GenerateKey(rand.Reader, n)
		if err != nil {
			t.Fatal(err)
		}
		return line(&k.PublicKey, nil)
	}
	ed, _, err := ed25519.GenerateKey(rand.Reader)
	good := line(ed, err)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	for _, c := range []struct{ name, key, want string }{
		{"ed25519", good, ""},
		{"with a comment", good + " someone@somewhere", ""},
		{"a long RSA key", bits(2048), ""},
		{"a short RSA key", bits(1024), "1024 bits"},
		{"an elliptic curve", line(&curve.PublicKey, err), "ecdsa-sha2-nistp256"},
		{"cut off", good[:40], "not one line"},
		{"two keys", good + "\n" + good, "not one line"},
		{"with options", "no-pty " + good, "not one line"},
		{"of another type than it says", strings.Replace(good, "ssh-ed25519", "ssh-rsa", 1), "not one line"},
		{"a private key", "-----BEGIN OPENSSH PRIVATE KEY-----", "not one line"},
	} {
		var cfg Config
		err := sshKey(&cfg, c.key)
		if c.want == "" && (err != nil || cfg.Azure.SSHPublicKey != c.key) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
