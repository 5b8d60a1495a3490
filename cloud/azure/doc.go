// Package azure answers: how do we buy machines from Azure Resource Manager?
//
// It is the Azure driver of the cloud door. It translates and does not decide: catalog turns sizes, prices and quota
// into offerings; build turns an order and a class into one virtual machine; bootstrap writes what the machine reads
// on its first boot; words turns Azure's errors into our codes; the calls start work and return. It does not remember
// what is sold out, does not try another offering, does not wait for a machine and does not touch the cluster.
//
// One machine is one PUT: the network interface stands inside the virtual machine's own request and is deleted with
// it, so that there is no moment at which a crash could leave an interface behind.
package azure
