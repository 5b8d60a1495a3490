package kubelet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/karpenter-aks/karpenter/lab/provision"
)

// provision runs the image's scripts with the machine's custom data and starts the kubelet with what they left; false when
// there will be no node: the boot log says why.
func (m *machine) provision(ctx context.Context) (bootSpec, bool) {
	out := provision.Run(ctx, m.CustomData, m.Machine, reach{m})
	if ctx.Err() != nil {
		return bootSpec{}, false // it was switched off meanwhile
	}
	if out.Refused != nil {
		m.log.say("custom data: %v", out.Refused)
		m.log.say("provisioning failed: this machine will not join")
		return bootSpec{}, false
	}
	for _, line := range out.Log {
		m.log.say("provisioning: %s", line)
	}
	switch {
	case out.ExitCode != 0:
		m.log.say("provisioning failed with exit code %d: this machine will not join", out.ExitCode)
		return bootSpec{}, false
	case out.NoKubelet != "":
		m.log.say("provisioning ended well, and no kubelet runs: %s: this machine will not join", out.NoKubelet)
		return bootSpec{}, false
	}
	spec, errs := readKubelet(out, m.Machine)
	for _, err := range errs {
		m.log.say("kubelet: %v", err)
	}
	if len(errs) > 0 {
		m.log.say("the kubelet exits, and is started again every two seconds: this machine will not join")
		return bootSpec{}, false
	}
	return spec, true
}

// reach is the machine's network as its scripts see it (provision.Network).
type reach struct{ m *machine }

// How often the scripts ask, at most (cse_main.sh, with names that are not those of private links).
const (
	lookupTries  = 300
	greetTries   = 34
	dialTries    = 300
	betweenTries = time.Second
)

func (r reach) Lookup(ctx context.Context, host string) error {
	return r.try(ctx, lookupTries, func() error {
		if r.m.host.cfg.Resolve(net.JoinHostPort(host, "443")) == "" {
			return fmt.Errorf("lookup %s: no such host", host)
		}
		return nil
	})
}

// Greet gives up at once on a certificate that is not trusted: the scripts would ask again, and be told the same.
func (r reach) Greet(ctx context.Context, host string, ca []byte) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	var untrusted error
	err := r.try(ctx, greetTries, func() error {
		conn, err := r.m.dial(ctx, "tcp", net.JoinHostPort(host, "443"))
		if err != nil {
			return err
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(ctx, requestLimit)
		defer cancel()
		err = tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}).HandshakeContext(ctx)
		var unknown *tls.CertificateVerificationError
		if errors.As(err, &unknown) {
			untrusted = errors.New(hint(err))
			return nil
		}
		return err
	})
	return errors.Join(err, untrusted)
}

func (r reach) Dial(ctx context.Context, address string) error {
	return r.try(ctx, dialTries, func() error {
		conn, err := r.m.dial(ctx, "tcp", net.JoinHostPort(address, "443"))
		if err == nil {
			conn.Close()
		}
		return err
	})
}

// try asks until it works, the tries are over, or ctx ends; each failure is in the boot log.
func (r reach) try(ctx context.Context, tries int, ask func() error) error {
	for n := 1; ; n++ {
		err := ask()
		if err == nil || ctx.Err() != nil {
			return err
		}
		r.m.log.say("provisioning: %v", err)
		if n == tries || !sleep(ctx, betweenTries) {
			return err
		}
	}
}

// dial connects to what the machine's private DNS says.
func (m *machine) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	addr := m.host.cfg.Resolve(hostport)
	if addr == "" {
		return nil, fmt.Errorf("lookup %s: no such host", hostport)
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return dialer.DialContext(ctx, network, addr)
}
