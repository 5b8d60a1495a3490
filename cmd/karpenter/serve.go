package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A server is one HTTP listener that lives as long as its context.
type server struct {
	name    string
	address string // "" = all
	port    int
	handler http.Handler
	tls     *tls.Config // nil = plain HTTP
}

// serve listens at once, so that a taken port is an error at start, and serves until ctx ends.
func serve(ctx context.Context, s server) (wait func() error, err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(s.address, strconv.Itoa(s.port)))
	if err != nil {
		return nil, fmt.Errorf("listen for %s on port %d: %w (is another process using it?)", s.name, s.port, err)
	}
	if s.tls != nil {
		l = tls.NewListener(l, s.tls)
	}
	srv := &http.Server{Handler: s.handler, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	return func() error {
		<-ctx.Done()
		stop, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err := srv.Shutdown(stop)
		if e := <-done; !errors.Is(e, http.ErrServerClosed) {
			err = errors.Join(err, e)
		}
		return err
	}, nil
}

func metricsHandler(reg prometheus.Gatherer, profiling bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	if profiling {
		mux.HandleFunc("/debug/pprof/", pprof.Index)
		mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// healthHandler answers healthz as long as the process lives, and readyz when the mirror is whole.
func healthHandler(synced func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !synced() {
			http.Error(w, "the picture of the cluster is not whole yet: is the API server reachable, and are the CRDs installed?", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}
