package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

const (
	// ownName is how the program is called by itself.
	ownName = "karpenter"
	// pluginName is how it is called as a plugin of kubectl.
	pluginName = "kubectl karpenter"
	// pluginFile is the file that kubectl looks for then, completionFile the one that it asks for completions.
	// Source: kubernetes.io, "Extend kubectl with plugins".
	pluginFile     = "kubectl-karpenter"
	completionFile = "kubectl_complete-karpenter"
)

// called says by which name people call the program, and with which arguments: argv holds the file first.
func called(argv []string) (name string, args []string) {
	if len(argv) == 0 {
		return ownName, nil
	}
	switch args = argv[1:]; strings.TrimSuffix(filepath.Base(argv[0]), ".exe") {
	case pluginFile:
		return pluginName, args
	case completionFile:
		return pluginName, append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	return ownName, args
}

// speakAs makes help texts name the program as it was called, so that their lines can be copied.
func speakAs(root *cobra.Command, name string) {
	if name == root.Name() {
		return
	}
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	var pairs []string
	for _, c := range append(root.Commands(), &cobra.Command{Use: "help"}) {
		pairs = append(pairs, root.Name()+" "+c.Name(), name+" "+c.Name())
	}
	speak(root, strings.NewReplacer(pairs...))
}

func speak(c *cobra.Command, as *strings.Replacer) {
	c.Long, c.Example = as.Replace(c.Long), as.Replace(c.Example)
	for _, sub := range c.Commands() {
		speak(sub, as)
	}
}
