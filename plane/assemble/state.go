package assemble

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	stateFile = "lab.json"
	// maxAnswer bounds what is read from the simulated Azure's own pages; 1 000 machines are about 1 MB.
	maxAnswer = 64 << 20
	askLimit  = 30 * time.Second
)

// State is what others must know of a running lab. It stands in lab.json from
// the controller's first start to the end.
type State struct {
	Dir           string    `json:"dir"`
	PID           int       `json:"pid"`
	PlanePID      int       `json:"planePid"`
	ControllerPID int       `json:"controllerPid,omitempty"` // changes with each restart; 0 = none is run
	Ready         bool      `json:"ready"`
	Started       time.Time `json:"started"`
	Kubeconfig    string    `json:"kubeconfig"`
	APIServer     string    `json:"apiServer"`
	Azure         string    `json:"azure"`  // base URL of the simulated Azure
	CAFile        string    `json:"caFile"` // signed both servers' certificates
	Token         string    `json:"token"`  // opens the simulated Azure's own pages, /lab/…
	Location      string    `json:"location"`
	ClusterHost   string    `json:"clusterHost"` // the API server's name as machines know it
	MetricsPort   int       `json:"metricsPort,omitempty"`
	HealthPort    int       `json:"healthPort,omitempty"`
	ControllerLog string    `json:"controllerLog,omitempty"`
	MachinesLog   string    `json:"machinesLog"`
	PlaneLog      string    `json:"planeLog"`
}

// ErrNotRunning says that no lab runs in a directory.
var ErrNotRunning = errors.New("no lab is running")

// Load finds the lab that runs in dir.
func Load(dir string) (State, error) {
	var s State
	b, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("%w in %s", ErrNotRunning, dir)
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s: %w", filepath.Join(dir, stateFile), err)
	}
	if errors.Is(syscall.Kill(s.PID, 0), syscall.ESRCH) { // it was killed and could not tidy up
		return s, fmt.Errorf("%w in %s: process %d is gone", ErrNotRunning, dir, s.PID)
	}
	return s, nil
}

func (s State) save() error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(s.Dir, stateFile), append(b, '\n'))
}

// Ask sends a request to one of the simulated Azure's own pages, such as /lab/resources, and returns the answer's body.
func (s State) Ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	ca, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	req, err := http.NewRequestWithContext(ctx, method, s.Azure+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the lab: %w", err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("ask the lab: %w", err)
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, bytes.TrimSpace(out))
	}
	return out, nil
}

// lock takes the directory for this process. The kernel gives it back when the process ends, however it ends.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another lab runs in %s (%w): stop it, or choose another --dir", dir, err)
	}
	return f, nil
}
