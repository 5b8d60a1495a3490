// Package tunnel answers: what does the API server reach of a cluster that has no network?
//
// AKS' API server reaches nodes and services through a tunnel; so does the lab's, by the same means
// (egress selection, HTTP CONNECT). At the other end are no machines but handlers: one for every
// kubelet, and one for each service that is played. Who asks for anything else is told so at once
// instead of after a timeout.
package tunnel

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// kubeletPort is where the API server asks for a kubelet.
const kubeletPort = "10250"

// stopLimit is how long open requests may take once the tunnel ends.
const stopLimit = time.Second

// Config says what is at the other end.
type Config struct {
	Cert     tls.Certificate         // of the proxy, 127.0.0.1, and of every server behind it
	Kubelet  http.Handler            // answers for all machines
	Services map[string]http.Handler // by host:port as the API server asks for it
	Log      slog.Handler
}

// Tunnel is a proxy with servers behind it. Close ends it.
type Tunnel struct {
	lis     net.Listener
	proxy   *http.Server
	behind  map[string]*end // by host:port, kubelets under their port alone
	running sync.WaitGroup
}

// end is a server that is handed its connections.
type end struct {
	server *http.Server
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen opens the port before anything is behind it, on loopback. Requests wait until Serve.
func Listen() (*Tunnel, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the cluster's tunnel: %w", err)
	}
	return &Tunnel{lis: lis, behind: map[string]*end{}}, nil
}

// Address is where the proxy listens: 127.0.0.1:<port>.
func (t *Tunnel) Address() string { return t.lis.Addr().String() }

// Serve begins to answer. It is called once, before Close.
func (t *Tunnel) Serve(c Config) {
	errs := slog.NewLogLogger(c.Log, slog.LevelDebug) // handshakes that a client broke off, mostly
	start := func(to string, h http.Handler) {
		e := &end{conns: make(chan net.Conn), closed: make(chan struct{})}
		e.server = &http.Server{Handler: h, ErrorLog: errs, ReadHeaderTimeout: 10 * time.Second,
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{c.Cert}}}
		t.behind[to] = e
		t.running.Go(func() { _ = e.server.ServeTLS(e, "", "") }) // always ErrServerClosed
	}
	start(kubeletPort, c.Kubelet)
	for to, h := range c.Services {
		start(to, h)
	}
	t.proxy = &http.Server{Handler: t, ErrorLog: errs, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{c.Cert}},
		// HTTP/2 has another CONNECT, which the API server does not speak.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}}
	t.running.Go(func() { _ = t.proxy.ServeTLS(t.lis, "", "") }) // as above
}

// ServeHTTP answers CONNECT: it hands the connection to the server that is asked for.
func (t *Tunnel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, port, err := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || err != nil {
		http.Error(w, "the tunnel takes CONNECT host:port", http.StatusBadRequest)
		return
	}
	to := t.behind[r.Host]
	if to == nil && port == kubeletPort {
		to = t.behind[kubeletPort]
	}
	if to == nil {
		http.Error(w, "the lab has no network: nothing answers at "+r.Host, http.StatusBadGateway)
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")); err != nil {
		conn.Close()
		return
	}
	select {
	case to.conns <- early{conn, buf.Reader}:
	case <-to.closed:
		conn.Close()
	}
}

// early is a connection of which the proxy may have read a little too much.
type early struct {
	net.Conn
	read *bufio.Reader
}

// Read implements net.Conn.
func (e early) Read(b []byte) (int, error) { return e.read.Read(b) }

// Accept implements net.Listener.
func (e *end) Accept() (net.Conn, error) {
	select {
	case c := <-e.conns:
		return c, nil
	case <-e.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

// Addr implements net.Listener.
func (e *end) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// Close ends the tunnel and returns when no server of it runs any more.
func (t *Tunnel) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	err := t.lis.Close()
	if t.proxy != nil {
		err = t.proxy.Close()
	}
	for _, e := range t.behind {
		if e.server.Shutdown(ctx) != nil {
			err = errors.Join(err, e.server.Close())
		}
	}
	t.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
