// Package simulate answers: what would we do about this dump?
//
// It reads worlds from files (scenarios in the notation of worldtext, objects as kubectl prints them), fills in what a file
// cannot hold, asks the deciders that the controller asks, and prints the answer for people or for machines. It talks to no
// cluster and no cloud: whoever calls says where a catalogue comes from. It decides nothing itself.
package simulate
