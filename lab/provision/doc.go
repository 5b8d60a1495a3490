// Package provision answers: what do the scripts on an AKS node image make of this custom data?
//
// A machine's custom data is a shell script that exports some two hundred variables and calls the image's own first-boot
// script. That script, and the ones it runs (repository Azure/AgentBaker, folder parts/linux/cloud-init/artifacts; read at
// 06836ee2 of August 2026), write files, install and start things, check the network, and start the kubelet. Run follows
// them with their control flow: which step comes when, which failure ends provisioning with which exit code, and which
// failure nobody looks at. What comes out is what a person would find on the machine: an exit code, the files, the command
// line of the kubelet's unit as systemd makes it, and warnings about what works otherwise than the sender may think.
//
// Each file holds one area of the contract: the steps of that area, and above them the table of its variables. Names,
// formats and consequences are facts about those scripts; none of their text is here.
//
// It starts no process and runs nothing. It asks the network three questions through the interface Network. Whether the
// kubelet would start with the flags that come out is not decided here: that is lab/kubelet's business.
package provision
