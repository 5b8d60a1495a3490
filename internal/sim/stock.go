package sim

import (
	"time"

	"github.com/karpenter-aks/karpenter/model"
)

// What most stories have: a pool, its class, and a daemon on every node.

func pool() model.Pool {
	zero := time.Duration(0)
	return model.Pool{Name: "general", UID: "pool-uid", Generation: 1, Created: time.Now(),
		Class: model.ClassRef{Group: "karpenter.azure.com", Kind: "AKSNodeClass", Name: "default"},
		Requirements: []model.Requirement{
			{Key: model.LabelArch, Op: model.In, Values: []string{"amd64"}},
			{Key: model.LabelCapacityType, Op: model.In, Values: []string{model.OnDemand}},
		},
		StartupTaints:    []model.Taint{{Key: "node.cilium.io/agent-not-ready", Value: "true", Effect: model.NoExecute}},
		Limits:           map[string]int64{model.ResourceCPU: 100_000},
		Policy:           model.WhenEmptyOrUnderutilized,
		ConsolidateAfter: &zero,
		Budgets:          []model.DisruptionBudget{{Nodes: "100%"}},
		Hash:             "1", HashVersion: "v3",
	}
}

func class() model.Class {
	return model.Class{Ref: pool().Class, Generation: 1, Hash: "2", HashVersion: "v3", Azure: &model.AzureClass{OSDiskSizeGB: 128, ImageFamily: "Ubuntu"}}
}

func daemon() model.Daemon {
	return model.Daemon{Namespace: "kube-system", Name: "cilium", Pod: model.Pod{DaemonSet: true,
		Requests: model.Resources{CPU: 100, Memory: 300 << 20, Pods: 1}, Tolerations: []model.Toleration{{Op: "Exists"}}}}
}
