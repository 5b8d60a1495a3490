package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestHowLongCommandsTake(t *testing.T) {
	const forEver = -1
	for _, c := range []struct {
		command []string
		want    time.Duration
	}{
		{nil, forEver}, // the image's own
		{[]string{"sleep", "5"}, 5 * time.Second},
		{[]string{"/bin/sleep", "1.5"}, 1500 * time.Millisecond},
		{[]string{"sleep", "1m", "30s"}, 90 * time.Second},
		{[]string{"sleep", "2h"}, 2 * time.Hour},
		{[]string{"sleep", "infinity"}, forEver},
		{[]string{"sleep", "1e300"}, forEver},
		{[]string{"sleep", "-1"}, forEver},
		{[]string{"sleep", "NaN"}, forEver},
		{[]string{"sleep"}, forEver},
		{[]string{"echo", "sleep", "5"}, 0},
		{[]string{"sh", "-c", "echo begin; sleep 5 && echo end"}, 5 * time.Second},
		{[]string{"/bin/bash", "-ec", "sleep 2\nsleep 3"}, 5 * time.Second},
		{[]string{"/bin/sh", "-c", "date; echo Hello from the Kubernetes cluster"}, 0},
		{[]string{"sh", "-c", "./work && sleep 7"}, 7 * time.Second},
		{[]string{"sh", "-c", "./work"}, forEver},
		{[]string{"sh", "-c", "while true; do sleep 1; done"}, forEver},
		{[]string{"sh", "-c", "N=3 sleep '4'"}, 4 * time.Second},
		{[]string{"nginx"}, forEver},
	} {
		got, ok := commandTime(c.command)
		if !ok {
			got = forEver
		}
		if got != c.want {
			t.Errorf("%q takes %v, want %v", c.command, got, c.want)
		}
	}
}

func TestPodsEndByThemselves(t *testing.T) {
	pod := func(policy corev1.RestartPolicy, runFor string, seconds ...string) *corev1.Pod {
		p := &corev1.Pod{}
		p.Spec.RestartPolicy = policy
		if runFor != "" {
			p.Annotations = map[string]string{RunForAnnotation: runFor}
		}
		for _, s := range seconds {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Command: []string{"sleep"}, Args: []string{s}})
		}
		return p
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		pod  *corev1.Pod
		want time.Duration // 0 = never
	}{
		"a job's pod sleeps":                    {pod(corev1.RestartPolicyNever, "", "5"), 5 * time.Second},
		"so does one that is restarted at need": {pod(corev1.RestartPolicyOnFailure, "", "5"), 5 * time.Second},
		"the slowest container counts":          {pod(corev1.RestartPolicyNever, "", "5", "9"), 9 * time.Second},
		"the annotation is stronger":            {pod(corev1.RestartPolicyNever, "3s", "5"), 3 * time.Second},
		"what always runs is started again":     {pod(corev1.RestartPolicyAlways, "3s", "5"), 0},
		"what nobody can tell runs on":          {pod(corev1.RestartPolicyNever, "", "5", "x"), 0},
	} {
		got := (&podRun{pod: c.pod, started: start}).endsAt()
		if c.want == 0 && !got.IsZero() || c.want > 0 && !got.Equal(start.Add(c.want)) {
			t.Errorf("%s: ends at %v, want %v after its start", name, got, c.want)
		}
	}
}
