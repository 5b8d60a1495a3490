package meter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// family makes gauges of one name. Labels of an object are made once and shared by all that is said
// of it: metrics about nodes have some thirty of them.
type family struct {
	desc  *prometheus.Desc
	names []string
}

func (s *Set) family(name string) *family {
	return &family{s.Desc(name), s.row(name).Names()}
}

// sample is one value. It is a prometheus.Metric.
type sample struct {
	desc   *prometheus.Desc
	labels []*dto.LabelPair // sorted by name
	value  float64
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label, out.Gauge = s.labels, &dto.Gauge{Value: &s.value}
	return nil
}

// pairs makes labels, sorted by name; what no API server takes for UTF-8 is mended.
func pairs(names, values []string) []*dto.LabelPair {
	out := make([]*dto.LabelPair, len(names))
	for i := range names {
		value := strings.ToValidUTF8(values[i], "?")
		out[i] = &dto.LabelPair{Name: &names[i], Value: &value}
	}
	slices.SortFunc(out, byName)
	return out
}

func byName(a, b *dto.LabelPair) int { return cmp.Compare(a.GetName(), b.GetName()) }

// with adds one label to those of an object.
func with(labels []*dto.LabelPair, name, value string) []*dto.LabelPair {
	one := &dto.LabelPair{Name: &name, Value: &value}
	i, _ := slices.BinarySearchFunc(labels, one, byName)
	return slices.Insert(slices.Clone(labels), i, one)
}

// of makes a gauge with these values of its labels.
func (f *family) of(value float64, labels ...string) prometheus.Metric {
	return &sample{f.desc, pairs(f.names, labels), value}
}

// shared makes a gauge with labels that others have, too.
func (f *family) shared(value float64, labels []*dto.LabelPair) prometheus.Metric {
	return &sample{f.desc, labels, value}
}
