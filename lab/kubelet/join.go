package kubelet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	certsv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	certsv1client "k8s.io/client-go/kubernetes/typed/certificates/v1"
	coordv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	storagev1client "k8s.io/client-go/kubernetes/typed/storage/v1"
	"k8s.io/client-go/rest"
)

// clients are one identity's connection to the API server.
type clients struct {
	core  corev1client.CoreV1Interface
	coord coordv1client.CoordinationV1Interface
	certs certsv1client.CertificatesV1Interface
	store storagev1client.StorageV1Interface
	wire  *http.Transport
}

// close drops the connection.
func (c *clients) close() { c.wire.CloseIdleConnections() }

// connect prepares clients with either a bootstrap token or a client certificate. Nothing is sent yet. The transport is
// the machine's own, not one of the library's cached ones, so that it goes when the machine goes.
func (m *machine) connect(spec bootSpec, token string, cert *tls.Certificate) (*clients, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(spec.ca)
	wire := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: roots, ServerName: spec.server, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		ForceAttemptHTTP2:   true,
		HTTP2:               &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
		DialContext:         m.dial,
	}
	if cert != nil {
		wire.TLSClientConfig.Certificates = []tls.Certificate{*cert}
	}
	cfg := unlimited(&rest.Config{Host: "https://" + net.JoinHostPort(spec.server, spec.port), BearerToken: token},
		fmt.Sprintf("kubelet/%s (linux/%s) karpenter-lab", spec.version, m.Arch))
	wrapped, err := rest.HTTPWrappersForConfig(cfg, wire)
	if err != nil {
		return nil, err
	}
	hc := &http.Client{Transport: wrapped}
	c := &clients{wire: wire}
	var errs [4]error
	c.core, errs[0] = corev1client.NewForConfigAndClient(cfg, hc)
	c.coord, errs[1] = coordv1client.NewForConfigAndClient(cfg, hc)
	c.certs, errs[2] = certsv1client.NewForConfigAndClient(cfg, hc)
	c.store, errs[3] = storagev1client.NewForConfigAndClient(cfg, hc)
	return c, errors.Join(errs[:]...)
}

// join does the TLS bootstrap: it asks for a client certificate with the bootstrap token until it has one or ctx ends.
func (m *machine) join(ctx context.Context, spec bootSpec) (*clients, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "system:node:" + m.Name, Organization: []string{"system:nodes"}},
	}, key)
	if err != nil {
		return nil, err
	}
	c, err := m.connect(spec, spec.token, nil)
	if err != nil {
		return nil, err
	}
	defer c.close()
	b := &bootstrap{m: m, certs: c.certs.CertificateSigningRequests(), pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})}
	for wait := retryFirst; ; wait = min(2*wait, retryLast) {
		chain, err := b.certificate(ctx)
		if err == nil {
			return m.connect(spec, "", &tls.Certificate{Certificate: chain, PrivateKey: key})
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m.log.say("bootstrap failed, will be tried again: %s", hint(err))
		if !sleep(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}

// hint adds to a bootstrap error what most often lies behind it.
func hint(err error) string {
	var authority x509.UnknownAuthorityError
	switch {
	case apierrors.IsUnauthorized(err):
		return err.Error() + " (the API server does not accept TLS_BOOTSTRAP_TOKEN: wrong, expired or deleted)"
	case errors.As(err, &authority):
		return err.Error() + " (KUBE_CA_CRT is not the CA of this API server)"
	}
	return err.Error()
}

// bootstrap is one machine's request for a certificate. It outlives failures, so that a machine whose request waits for
// approval does not make another one.
type bootstrap struct {
	m     *machine
	certs certsv1client.CertificateSigningRequestInterface
	pem   []byte
	name  string // of the request object, once made
}

// certificate makes the request if there is none and waits for the controller manager to approve and sign it.
func (b *bootstrap) certificate(ctx context.Context) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, csrLimit)
	defer cancel()
	if b.name == "" {
		made, err := b.certs.Create(ctx, &certsv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "node-csr-"},
			Spec: certsv1.CertificateSigningRequestSpec{
				Request:    b.pem,
				SignerName: certsv1.KubeAPIServerClientKubeletSignerName,
				Usages:     []certsv1.KeyUsage{certsv1.UsageDigitalSignature, certsv1.UsageClientAuth},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("create certificate request: %w", err)
		}
		b.name = made.Name
		b.m.log.say("certificate request %s made, waiting for approval", b.name)
	}
	w, err := b.certs.Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", b.name).String()})
	if err != nil {
		return nil, fmt.Errorf("watch certificate request %s: %w", b.name, err)
	}
	defer w.Stop()
	for ev := range w.ResultChan() {
		csr, ok := ev.Object.(*certsv1.CertificateSigningRequest)
		if !ok || ev.Type == "DELETED" {
			b.name = ""
			return nil, fmt.Errorf("certificate request is gone: %v", apierrors.FromObject(ev.Object))
		}
		for _, c := range csr.Status.Conditions {
			if c.Type == certsv1.CertificateDenied || c.Type == certsv1.CertificateFailed {
				b.name = ""
				return nil, fmt.Errorf("certificate request %s is %s: %s: %s", csr.Name, c.Type, c.Reason, c.Message)
			}
		}
		if len(csr.Status.Certificate) > 0 {
			return chain(csr.Status.Certificate)
		}
	}
	return nil, fmt.Errorf("certificate request %s: the watch ended before a certificate was issued", b.name)
}

// chain decodes the PEM certificates that the signer returned.
func chain(certs []byte) ([][]byte, error) {
	var out [][]byte
	for block, rest := pem.Decode(certs); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, fmt.Errorf("issued certificate: %w", err)
		}
		out = append(out, block.Bytes)
	}
	if len(out) == 0 {
		return nil, errors.New("issued certificate: there is none in the answer")
	}
	return out, nil
}

// sleep waits for d; false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
