package provision

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

// containerdVariables: the container runtime and the registries.
func containerdVariables() []Variable {
	return []Variable{
		{"CONTAINERD_CONFIG_CONTENT", Base64, "always, in effect", "an empty file: containerd's defaults, with another cgroup driver than the kubelet's", inConfig},
		{"CONTAINERD_CONFIG_NO_GPU_CONTENT", Base64, "on GPU sizes whose machine is tagged to have no driver", "an empty file", inConfig},
		{"SHOULD_CONFIG_CONTAINERD_ULIMITS", Flag, "", "1048576 open files", inMain},
		{"CONTAINERD_ULIMITS", Text, "", "an empty drop-in", inConfig},
		{"ARTIFACT_STREAMING_ENABLED", Flag, "", "no streaming of images", inMain},
		{"BOOTSTRAP_PROFILE_CONTAINER_REGISTRY_SERVER", Text, "in network-isolated clusters", "images come from mcr.microsoft.com", inConfig},
		{"MCR_REPOSITORY_BASE", Host, "on images of early 2025", "mcr.microsoft.com", inHelpers},
	}
}

const (
	containerdFile = "/etc/containerd/config.toml"
	nvidiaRuntime  = "/usr/bin/nvidia-container-runtime"
)

// containerd writes its configuration and starts it (ensureContainerd). What is no base64 ends provisioning; what is no
// TOML is found out by containerd.
func (b *boot) containerd(context.Context) *stop {
	config, ok := decode(b.get("CONTAINERD_CONFIG_CONTENT"))
	if !ok {
		return exit(exitFile, "CONTAINERD_CONFIG_CONTENT is no base64")
	}
	b.write(containerdFile, 0o644, config)
	b.write("/etc/systemd/system/containerd.service.d/exec_start.conf", 0o644, "[Service]\nExecStartPost=/sbin/iptables -P FORWARD ACCEPT\nLimitNOFILE=1048576\n")
	if err := checkTOML(config); err != nil {
		return exit(exitStart, "containerd does not start: %s: %v", containerdFile, err)
	}
	b.readRuntime(config)
	if b.on("SHOULD_CONFIG_CONTAINERD_ULIMITS") {
		b.write("/etc/systemd/system/containerd.service.d/set_ulimits.conf", 0o600, strings.ReplaceAll(b.get("CONTAINERD_ULIMITS"), " ", "\n")+"\n")
	}
	if b.on("ARTIFACT_STREAMING_ENABLED") {
		for _, s := range []string{"acr-mirror", "overlaybd-tcmu", "overlaybd-snapshotter"} {
			b.started(s)
		}
		if !strings.Contains(config, `snapshotter = "overlaybd"`) || !strings.Contains(config, "/run/overlaybd-snapshotter/overlaybd.sock") {
			b.warn("ARTIFACT_STREAMING_ENABLED is true, and containerd's configuration does not use the snapshotter overlaybd: nothing is streamed")
		}
	}
	return nil
}

// readRuntime compares the configuration with what it must fit: the kubelet's cgroup driver and the GPU's runtime.
func (b *boot) readRuntime(config string) {
	systemd := regexp.MustCompile(`(?m)^\s*SystemdCgroup\s*=\s*true\s*$`).MatchString(config)
	if b.on("NEEDS_CGROUPV2") && !systemd {
		b.warn("containerd makes cgroups by itself and the kubelet through systemd: SystemdCgroup = true is missing in CONTAINERD_CONFIG_CONTENT")
	}
	if gpu := strings.Contains(config, `BinaryName = "`+nvidiaRuntime+`"`); gpu != b.on("GPU_NODE") {
		b.warn("GPU_NODE is %v, and containerd's runtime is %s", b.on("GPU_NODE"), map[bool]string{true: "NVIDIA's", false: "runc"}[gpu])
	}
	if !strings.Contains(config, "sandbox_image") && !strings.Contains(config, "sandbox = ") {
		b.warn("containerd's configuration names no pause image")
	}
}

// checkTOML reads as much of TOML as containerd's configuration uses, a line at a time: tables, and keys with strings,
// numbers, booleans and one-line arrays of these. The error names the line.
func checkTOML(text string) error {
	key := `(?:[A-Za-z0-9_-]+|"[^"\\]*"|'[^']*')`
	dotted := key + `(?:\s*\.\s*` + key + `)*`
	value := `(?:"(?:[^"\\]|\\.)*"|'[^']*'|true|false|[+-]?[0-9][0-9_]*(?:\.[0-9]+)?)`
	line := regexp.MustCompile(`^\s*(?:\[\s*` + dotted + `\s*\]|\[\[\s*` + dotted + `\s*\]\]|` + dotted + `\s*=\s*(?:` + value + `|\[\s*(?:` + value + `\s*(?:,\s*` + value + `\s*)*,?)?\s*\]))?\s*(?:#.*)?$`)
	for i, l := range strings.Split(text, "\n") {
		if !line.MatchString(l) {
			return fmt.Errorf("line %d is no TOML: %q", i+1, l)
		}
	}
	return nil
}
