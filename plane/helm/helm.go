// Package helm answers: how does a chart become a release in a cluster, and what was there before?
//
// It is Helm itself, as a library, on one cluster and namespace: releases that it makes are those that a
// person's own helm lists, upgrades and rolls back, and the other way round. It renders nothing of its
// own and waits for no pods.
package helm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
)

const (
	// limit bounds one action. Objects are a few dozen; the API server takes them in a second.
	limit = 2 * time.Minute
	// history is how many revisions of a release are kept, as by default in Helm's own command.
	history = 10
	// qps and burst are what Helm's command asks of the API server at most.
	qps, burst = 50, 100
)

// Helm acts on the releases of one namespace. Two may not act on the same release at a time.
type Helm struct {
	cfg       *action.Configuration
	namespace string
}

// New is for the cluster and the user of a kubeconfig. What the API server serves is remembered below
// cache, which may be removed at any time.
func New(kubeconfig, namespace, cache string) (*Helm, error) {
	quick := func(c *rest.Config) *rest.Config {
		c.QPS, c.Burst = qps, burst
		return c
	}
	flags := genericclioptions.NewConfigFlags(true).WithWrapConfigFn(quick)
	dir := filepath.Join(cache, "discovery")
	flags.KubeConfig, flags.Namespace, flags.CacheDir = &kubeconfig, &namespace, &dir
	cfg := &action.Configuration{}
	if err := cfg.Init(flags, namespace, "secret", func(string, ...any) {}); err != nil {
		return nil, fmt.Errorf("start helm: %w", err)
	}
	return &Helm{cfg, namespace}, nil
}

// Load reads the chart in a directory of a file system.
func Load(files fs.FS, root string) (*chart.Chart, error) {
	var in []*loader.BufferedFile
	err := fs.WalkDir(files, root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		in = append(in, &loader.BufferedFile{Name: strings.TrimPrefix(path, root+"/"), Data: data})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read chart %s: %w", root, err)
	}
	c, err := loader.LoadFiles(in)
	if err != nil {
		return nil, fmt.Errorf("load chart %s: %w", root, err)
	}
	return c, nil
}

// Options of an installation or upgrade, by the names of Helm's own flags.
type Options struct {
	// TakeOwnership makes objects this release's that others made (--take-ownership).
	TakeOwnership bool
	// ReuseValues begins with the values of the release's last revision (--reuse-values).
	ReuseValues bool
	// SkipCRDs leaves the chart's crds/ out (--skip-crds). An upgrade never touches them anyway.
	SkipCRDs bool
}

// Apply installs a release, or upgrades it if there is one: "helm upgrade --install".
func (h *Helm) Apply(ctx context.Context, name string, c *chart.Chart, values map[string]any,
	o Options) (*release.Release, error) {
	_, err := h.cfg.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		in := action.NewInstall(h.cfg)
		in.ReleaseName, in.Namespace, in.Timeout = name, h.namespace, limit
		in.TakeOwnership, in.SkipCRDs = o.TakeOwnership, o.SkipCRDs
		return in.RunWithContext(ctx, c, values)
	}
	if err != nil {
		return nil, fmt.Errorf("look for release %s: %w", name, err)
	}
	up := action.NewUpgrade(h.cfg)
	up.Namespace, up.Timeout, up.MaxHistory = h.namespace, limit, history
	up.TakeOwnership, up.ReuseValues = o.TakeOwnership, o.ReuseValues
	return up.RunWithContext(ctx, name, c, values)
}

// Rollback makes a release what it was at a revision; 0 is the one before the last.
func (h *Helm) Rollback(name string, revision int) error {
	back := action.NewRollback(h.cfg)
	back.Version, back.Timeout, back.MaxHistory = revision, limit, history
	return back.Run(name)
}

// Uninstall removes what a release made. Custom resource definitions that came from a chart's crds/
// stay, and all custom resources with them.
func (h *Helm) Uninstall(name string) error {
	un := action.NewUninstall(h.cfg)
	un.Timeout = limit
	_, err := un.Run(name)
	return err
}

// History are the revisions of a release, oldest first.
func (h *Helm) History(name string) ([]*release.Release, error) {
	return action.NewHistory(h.cfg).Run(name)
}

// Lint says everything that "helm lint --strict" finds wrong with the chart in a directory.
func Lint(dir, kubernetes string, values map[string]any) ([]error, error) {
	version, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		return nil, err
	}
	l := action.NewLint()
	l.Strict, l.KubeVersion = true, version
	return l.Run([]string{dir}, values).Errors, nil
}
