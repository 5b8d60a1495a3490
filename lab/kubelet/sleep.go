package kubelet

import (
	"path"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// runTime is how long the pod's containers take by their commands: the slowest counts, as a pod ends with its last container.
// ok is false when one of them cannot be told.
func runTime(pod *corev1.Pod) (longest time.Duration, ok bool) {
	for _, c := range pod.Spec.Containers {
		d, ok := commandTime(append(append([]string{}, c.Command...), c.Args...))
		if !ok {
			return 0, false
		}
		longest = max(longest, d)
	}
	return longest, len(pod.Spec.Containers) > 0
}

// commandTime reads how long a command takes: `sleep 5`, `sleep 1m 30s`, commands that take no time, and what sh -c has of these
// one after the other. A script with a sleep in it takes the time of its sleeps, whatever else it calls; one that loops or branches
// cannot be told, and neither can an image's own command.
func commandTime(words []string) (d time.Duration, ok bool) {
	if len(words) == 0 {
		return 0, false
	}
	switch name := path.Base(words[0]); {
	case name == "sleep":
		return sleepTime(words[1:])
	case atOnce(name):
		return 0, true
	case name == "sh" || name == "bash" || name == "ash" || name == "dash":
		for i := 1; i < len(words)-1; i++ {
			if strings.HasPrefix(words[i], "-") && strings.HasSuffix(words[i], "c") {
				return scriptTime(words[i+1])
			}
		}
	}
	return 0, false
}

// scriptTime adds up the sleeps of a script.
func scriptTime(script string) (sum time.Duration, ok bool) {
	slept, all := false, true
	for _, line := range strings.FieldsFunc(script, func(r rune) bool { return strings.ContainsRune(";\n&|(){}", r) }) {
		words := strings.Fields(line)
		for len(words) > 0 && (words[0] == "exec" || words[0] == "then" || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "while", "until", "for", "if", "case":
			return 0, false
		case "sleep":
			d, ok := sleepTime(words[1:])
			if !ok {
				return 0, false
			}
			sum, slept = sum+d, true
		default:
			all = all && atOnce(path.Base(words[0]))
		}
	}
	return sum, slept || all
}

// atOnce are commands of first examples that end as soon as they have begun.
func atOnce(name string) bool {
	switch name {
	case "echo", "printf", "date", "true", ":", "exit", "set", "hostname", "env", "uname", "ls", "pwd", "whoami":
		return true
	}
	return false
}

// sleepTime reads the words after sleep: numbers with s, m, h, d or nothing, which are added up (GNU coreutils' documentation).
func sleepTime(words []string) (sum time.Duration, ok bool) {
	for _, w := range words {
		w = strings.Trim(w, `"'`)
		unit := time.Second
		if i := len(w) - 1; i > 0 {
			if u, known := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}[w[i]]; known {
				w, unit = w[:i], u
			}
		}
		n, err := strconv.ParseFloat(w, 64)
		if err != nil || !(n >= 0) || n > float64(never/unit) { // "infinity" is for ever
			return 0, false
		}
		sum = min(sum+time.Duration(n*float64(unit)), never)
	}
	return sum, len(words) > 0
}
