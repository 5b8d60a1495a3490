package main

import (
	"slices"

	clientmetrics "github.com/awslabs/operatorpkg/metrics"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/karpenter-aks/karpenter/internal/config"
	"github.com/karpenter-aks/karpenter/internal/meter"
)

// registries returns where our metrics are registered, and all that is served: ours, what the Go runtime says, and what the libraries that
// we keep count by themselves. It is called once, and before the first client of the API server is made.
func registries(m config.Metrics) (ours *prometheus.Registry, all prometheus.Gatherer) {
	ours = prometheus.NewRegistry()
	runtime := collectors.NewGoCollector()
	if m.Profile == meter.Full {
		runtime = collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.MetricsAll))
	}
	ours.MustRegister(runtime, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if m.Profile >= meter.Standard {
		clientmetrics.RegisterClientMetrics(ours)
	}
	return ours, prometheus.Gatherers{ours, only{ctrlmetrics.Registry, meter.FromLibraries()}}
}

// only passes on the families of these names: a registry that libraries share has many more, of what they would do and we do not use.
type only struct {
	prometheus.Gatherer
	names []string
}

// Gather implements prometheus.Gatherer.
func (o only) Gather() ([]*dto.MetricFamily, error) {
	all, err := o.Gatherer.Gather()
	return slices.DeleteFunc(all, func(f *dto.MetricFamily) bool { return !slices.Contains(o.names, f.GetName()) }), err
}
