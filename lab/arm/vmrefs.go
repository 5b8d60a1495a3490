package arm

import (
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// checkRefs looks up what a machine names beside network and image. What the lab does not have does not exist.
func (c *Cloud) checkRefs(q *call, p *vmPlan) *apiError {
	props := digObject(q.body, "properties")
	if e := c.checkIdentity(q); e != nil {
		return e
	}
	if set := digString(props, "availabilitySet", "id"); set != "" {
		if p.zone != "" {
			// Documentation "Virtual machine error messages".
			return refuse(http.StatusBadRequest, "BadRequest", "Virtual Machine cannot be created because both Availability Zone and Availability Set were specified. Deploying an Availability Set to an Availability Zone isn't supported.")
		}
		return missing("Availability Set", set)
	}
	for _, field := range []string{"virtualMachineScaleSet", "proximityPlacementGroup", "host", "hostGroup"} {
		if id := digString(props, field, "id"); id != "" {
			return missing(field, id)
		}
	}
	if id := digString(props, "capacityReservation", "capacityReservationGroup", "id"); id != "" {
		switch {
		case !has(c.cfg.CapacityReservationGroups, id):
			return missing("Capacity Reservation Group", id)
		case p.spot: // documentation "On-demand capacity reservation", limitations
			return refuse(http.StatusBadRequest, "BadRequest", "Capacity reservation is not supported for Azure Spot Virtual Machines.")
		}
	}
	if len(digList(props, "storageProfile", "dataDisks")) > 0 {
		return invalid("dataDisks", "The lab creates machines without data disks.")
	}
	return c.checkCapabilities(props, p)
}

func has(ids []string, id string) bool {
	return slices.ContainsFunc(ids, func(x string) bool { return strings.EqualFold(x, id) })
}

// missing refuses what a machine needs and the cloud does not have. Compute answers 404; the code for each kind of resource
// is not documented, and NotFound is what it says of interfaces.
func missing(what, id string) *apiError {
	return refuse(http.StatusNotFound, "NotFound", "%s '%s' was not found. Please make sure that the referenced resource exists, and that both resources are in the same region.", what, id)
}

// checkIdentity follows Virtual Machines - Create Or Update, identity. The refusal of an identity that does not exist
// comes from the identity service, wrapped (public reports of FailedIdentityOperation).
func (c *Cloud) checkIdentity(q *call) *apiError {
	id := digObject(q.body, "identity")
	if id == nil {
		return nil
	}
	ids := digObject(id, "userAssignedIdentities")
	kind := digString(id, "type")
	assigned := strings.Contains(kind, "UserAssigned")
	switch {
	case len(ids) > 0 && !assigned && (kind != "" || q.Method == http.MethodPut): // a PATCH may leave the type as it is
		return invalid("resourceIdentity.identityIds", "ResourceIdentity identityIds should not be provided if the type is \"%s\".", kind)
	case len(ids) == 0 && assigned && q.Method == http.MethodPut:
		return invalid("resourceIdentity.identityIds", "The value of parameter resourceIdentity.identityIds is invalid: the type is \"%s\".", kind)
	}
	for _, one := range sortedKeys(ids) {
		if !has(c.cfg.Identities, one) && ids[one] != nil {
			return refuse(http.StatusBadRequest, "FailedIdentityOperation",
				`Identity operation for resource '%s' failed with error 'Failed to perform resource identity operation. Status: 'BadRequest'. Response: '{"error":{"code":"BadRequest","message":"Resource '%s' was not found."}}'.'.`, c.pathID(q), one)
		}
	}
	return nil
}

// checkCapabilities: ultra disks need a size that has them, and a zone (public reports of the refusal).
func (c *Cloud) checkCapabilities(props object, p *vmPlan) *apiError {
	const target = "additionalCapabilities.ultraSSDEnabled"
	switch {
	case !digBool(props, "additionalCapabilities", "ultraSSDEnabled"):
		return nil
	case p.zone == "":
		return invalid(target, "UltraSSD can be used only with Virtual Machine in an Availability Zone.")
	case !p.offer.Size.UltraSSD:
		return invalid(target, "The requested VM size '%s' does not support UltraSSD in zone '%s'.", p.offer.Size.Name, p.zone)
	}
	return nil
}

// checkSecurity follows "Trusted launch for Azure virtual machines" and Virtual Machines - Create Or Update,
// securityProfile. Images say with their name that they are made for trusted launch.
func (c *Cloud) checkSecurity(q *call, p *vmPlan, image string) *apiError {
	sec := digObject(q.body, "properties", "securityProfile")
	kind, s := digString(sec, "securityType"), p.offer.Size
	if digBool(sec, "encryptionAtHost") && !s.EncryptionAtHost {
		return invalid("encryptionAtHost", "The VM size '%s' does not support encryption at host.", s.Name)
	}
	switch {
	case kind == "ConfidentialVM" && s.Confidential == "", kind == "TrustedLaunch" && !s.TrustedLaunch:
		return refuse(http.StatusBadRequest, "BadRequest", "The VM size '%s' is not supported for creation of VMs and Virtual Machine Scale Set with '%s' security type. For more information, see https://aka.ms/TrustedLaunch-FAQ", s.Name, kind)
	case kind == "ConfidentialVM", kind == "TrustedLaunch" && !strings.Contains(image, "TL"):
		return refuse(http.StatusBadRequest, "BadRequest", "Use of %s setting is not supported for the provided image. Please select Trusted Launch Supported Gen2 OS Image. For more information, see https://aka.ms/TrustedLaunch-FAQ.", kind)
	case kind == "" && sec["uefiSettings"] != nil:
		return refuse(http.StatusBadRequest, "BadRequest", "The parameter 'securityProfile.uefiSettings' can be set only with a 'securityProfile.securityType'.")
	}
	return nil
}

// checkStorage follows "Azure managed disk types": which of them can hold an operating system, and on which sizes.
func (c *Cloud) checkStorage(disk object, p *vmPlan) *apiError {
	const target = "osDisk.managedDisk.storageAccountType"
	kind := digString(disk, "managedDisk", "storageAccountType")
	switch {
	case kind == "UltraSSD_LRS" || kind == "PremiumV2_LRS":
		return invalid(target, "The storage account type '%s' is not supported for OS disks.", kind)
	case strings.HasPrefix(kind, "Premium") && !p.offer.Size.PremiumIO:
		return invalid(target, "Requested operation cannot be performed because the VM size %s does not support the storage account type %s of disk '%s'. Consider updating the VM to a size that supports Premium storage.", p.offer.Size.Name, kind, digString(disk, "name"))
	case strings.HasSuffix(kind, "_ZRS") && len(p.offer.Zones) == 0:
		return invalid(target, "The storage account type '%s' is not available in location '%s'.", kind, c.cfg.Location)
	}
	if id := digString(disk, "managedDisk", "diskEncryptionSet", "id"); id != "" && !has(c.cfg.DiskEncryptionSets, id) {
		return missing("Disk Encryption Set", id)
	}
	if name := digString(disk, "name"); name != "" && !resourceName.MatchString(name) {
		return invalid("osDisk.name", "The value of parameter osDisk.name is invalid: '%.100s'.", name)
	}
	return nil
}

// resourceName is what disks and interfaces may be called (documentation "Naming rules and restrictions for Azure
// resources").
var resourceName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,78}[A-Za-z0-9_])?$`)

// badName refuses the name of an interface or of one of its configurations.
func badName(name string) *apiError {
	return refuse(http.StatusBadRequest, "InvalidResourceName", "Resource name %.100s is invalid. The name can be up to 80 characters long. It must begin with a word character, and it must end with a word character or with '_'. The name may contain word characters or '.', '-', '_'.", name)
}

// minRSA is the shortest RSA key in bits, and keyKinds the kinds that Linux machines take (documentation "Create and use an
// SSH public-private key pair for Linux VMs in Azure", supported SSH key formats).
const minRSA = 2048

// goodKey reads one line as authorized_keys has it: a kind, the key in base64, a comment. The key begins with its kind
// (RFC 4253, 6.6); an RSA key goes on with exponent and modulus, an Ed25519 key with 32 bytes (RFC 8709).
func goodKey(line string) bool {
	w := strings.Fields(line)
	if len(w) < 2 || strings.ContainsAny(strings.TrimSpace(line), "\r\n") {
		return false
	}
	blob, err := base64.StdEncoding.DecodeString(w[1])
	if err != nil {
		return false
	}
	next := func() []byte {
		if len(blob) < 4 {
			return nil
		}
		n := binary.BigEndian.Uint32(blob)
		if uint64(n) > uint64(len(blob)-4) {
			return nil
		}
		out := blob[4 : 4+n]
		blob = blob[4+n:]
		return out
	}
	if string(next()) != w[0] {
		return false
	}
	switch w[0] {
	case "ssh-rsa":
		exponent, modulus := next(), next()
		for len(modulus) > 0 && modulus[0] == 0 {
			modulus = modulus[1:]
		}
		return len(exponent) > 0 && len(modulus)*8 >= minRSA && len(blob) == 0
	case "ssh-ed25519":
		return len(next()) == 32 && len(blob) == 0
	}
	return false
}
