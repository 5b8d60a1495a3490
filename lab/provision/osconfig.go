package provision

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// osVariables: kernel settings, swap, huge pages, access.
func osVariables() []Variable {
	return []Variable{
		{"SYSCTL_CONTENT", Base64, "always, in effect", "an empty file: AKS' settings of connections and neighbours are missing", inConfig},
		{"SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE", Flag, "", "the image's settings", inMain},
		{"THP_ENABLED", Text, "", "the image's setting", inConfig},
		{"THP_DEFRAG", Text, "", "the image's setting", inConfig},
		{"SHOULD_CONFIG_SWAP_FILE", Flag, "", "no swap", inMain},
		{"SWAP_FILE_SIZE_MB", Number, "with SHOULD_CONFIG_SWAP_FILE", "exit 130", inConfig},
		{"MESSAGE_OF_THE_DAY", Base64, "", "none", inMain},
		{"ENABLE_UNATTENDED_UPGRADES", Flag, "", "none", inMain},
		{"DISABLE_SSH", Flag, "", "SSH is open", inMain},
		{"DISABLE_PUBKEY_AUTH", Flag, "", "SSH takes keys", inMain},
		{"IS_KATA", Flag, "", "no Kata", inMain},
	}
}

const sysctlFile = "/etc/sysctl.d/999-sysctl-aks.conf"

// sysctl writes the kernel's settings and loads them, with all others on the machine (ensureSysctl).
func (b *boot) sysctl(context.Context) *stop {
	content, ok := decode(b.get("SYSCTL_CONTENT"))
	b.write(sysctlFile, 0o644, content)
	switch {
	case !ok:
		b.say("SYSCTL_CONTENT could not be decoded to its end, which nobody looks at")
	case strings.TrimSpace(content) == "":
		b.warn("SYSCTL_CONTENT is empty: AKS' settings of connections and neighbours are missing")
	}
	key := regexp.MustCompile(`^(net|fs|kernel|vm|user|abi|dev|debug)\.[A-Za-z0-9_./*-]+$`)
	for i, l := range strings.Split(content, "\n") {
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' || l[0] == ';' {
			continue
		}
		name, value, found := strings.Cut(l, "=")
		name, value = strings.TrimPrefix(strings.TrimSpace(name), "-"), strings.TrimSpace(value)
		if !found || !key.MatchString(name) || value == "" {
			return exit(exitSysctl, "SYSCTL_CONTENT: line %d is no setting of the kernel: %q", i+1, l)
		}
	}
	return nil
}

// Sysctl is the value that a kernel setting has after provisioning, "" when neither the custom data nor the image sets it.
func (o Outcome) Sysctl(key string) string {
	value := map[string]string{"vm.overcommit_memory": "1", "kernel.panic": "10", "kernel.panic_on_oops": "1"}[key] // baked into AKS' images
	for l := range strings.Lines(o.Files[sysctlFile].Content) {
		name, v, found := strings.Cut(l, "=")
		if found && strings.TrimPrefix(strings.TrimSpace(name), "-") == key {
			value = strings.TrimSpace(v)
		}
	}
	return value
}

// memory sets up huge pages and swap (configureTransparentHugePage, configureSwapFile).
func (b *boot) memory(context.Context) *stop {
	if b.on("SHOULD_CONFIG_TRANSPARENT_HUGE_PAGE") {
		text := ""
		for _, p := range []struct {
			name, file string
			words      []string
		}{
			{"THP_ENABLED", "enabled", []string{"always", "madvise", "never"}},
			{"THP_DEFRAG", "defrag", []string{"always", "defer", "defer+madvise", "madvise", "never"}},
		} {
			v := b.get(p.name)
			if v == "" {
				continue
			}
			text += fmt.Sprintf("kernel/mm/transparent_hugepage/%s=%s\n", p.file, v)
			if !slices.Contains(p.words, v) {
				b.warn("%s: the kernel does not take %q", p.name, v)
			}
		}
		b.write("/etc/sysfs.conf", 0o644, text)
	}
	if !b.on("SHOULD_CONFIG_SWAP_FILE") {
		return nil
	}
	size, err := strconv.ParseInt(b.get("SWAP_FILE_SIZE_MB"), 10, 32)
	if err != nil || size <= 0 {
		return exit(exitSwap, "SWAP_FILE_SIZE_MB: %q is no size", b.get("SWAP_FILE_SIZE_MB"))
	}
	// A part of the OS disk is the system's; the temporary disk, which would be taken first, is not known here.
	if disk := int64(b.machine.OSDiskGB); disk > 0 && size*1000/1024 > (disk-systemGB)*1024 {
		return exit(exitSwapRoom, "SWAP_FILE_SIZE_MB: %d MB do not fit on a disk of %d GiB", size, disk)
	}
	b.write("/swapfile", 0o600, strconv.FormatInt(size*1000, 10)+" KiB")
	return nil
}

// systemGB is about what an AKS image takes of its disk.
const systemGB = 25

// services are those that need no more than a switch.
func (b *boot) services(context.Context) *stop {
	if v := b.get("MESSAGE_OF_THE_DAY"); v != "" {
		text, _ := decode(v)
		b.write("/etc/motd", 0o644, text)
	}
	if b.on("ENABLE_UNATTENDED_UPGRADES") {
		b.started(map[bool]string{true: "apt-daily", false: "dnf-automatic-install"}[b.image.ubuntu])
	}
	if !b.on("DISABLE_SSH") {
		b.started("ssh")
	}
	return nil
}
