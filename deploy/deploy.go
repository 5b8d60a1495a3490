// Package deploy answers: how is the product installed?
//
// It carries the Helm charts and the roles of Azure that the controller's identity needs, so that a program which uses them
// needs no files beside itself. It renders and installs nothing.
package deploy

import "embed"

// Charts holds the charts under charts/karpenter and charts/karpenter-crd, hidden files included.
//
//go:embed all:charts
var Charts embed.FS

// Roles holds Azure role definitions under azure/, in the form that "az role definition create" takes: exactly the actions
// that the controller uses, by where they are assigned: node-group.json, shared.json and subscription.json.
//
//go:embed azure/*.json
var Roles embed.FS
