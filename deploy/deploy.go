// Package deploy answers: how is the product installed?
//
// It carries the Helm charts, so that a program which installs them needs no files beside itself. It renders and
// installs nothing.
package deploy

import "embed"

// Charts holds the charts under charts/karpenter and charts/karpenter-crd, hidden files included.
//
//go:embed all:charts
var Charts embed.FS
