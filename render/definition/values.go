package definition

import (
	"net/netip"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"stevedore.dev/stevedore/internal/names"
	"stevedore.dev/stevedore/internal/spelling"
	"stevedore.dev/stevedore/render/internal/located"
)

const nameRule = "use lower case letters, digits and -, beginning and ending with a letter or digit"

// namePattern is what a label of DNS is made of. It says nothing of the length: kustomize may still add a
// prefix or a suffix, and what has to fit are the names of objects that a name is a part of (lengths).
var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func checkName(s string) string {
	if namePattern.MatchString(s) {
		return ""
	}
	return "cannot be part of the names of Kubernetes objects: " + nameRule
}

// CheckNamespace says what is wrong with the name of a namespace; "" is well.
func CheckNamespace(s string) string {
	if len(validation.IsDNS1123Label(s)) == 0 {
		return ""
	}
	return "is no name of a namespace: " + nameRule + ", at most 63 characters"
}

// checkGroupName is stricter than the CRD's pattern, which takes upper case,
// dots and underscores: such a group's StatefulSet is refused by Kubernetes,
// and crate-operator's cluster then never forms.
func checkGroupName(s string) string {
	if s == names.MasterGroup {
		return "master is the name of the dedicated masters: take another"
	}
	if namePattern.MatchString(s) {
		return ""
	}
	return "cannot be part of a StatefulSet's name: " + nameRule
}

var clusterNamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func checkClusterName(s string) string {
	if clusterNamePattern.MatchString(s) {
		return ""
	}
	return nameRule + ", at most 63 characters"
}

func checkUserName(s string) string {
	switch {
	case s == "crate":
		return "crate is CrateDB's superuser: creating a user of that name takes its place and its privileges away; take another name"
	case s == names.SystemUser:
		return "system is the user that stevedore works as: take another name"
	case s == "":
		return "is empty: write the user's name"
	}
	for _, r := range s {
		if r < 0x20 || r == 0x7f {
			return "has a control character"
		}
	}
	return ""
}

func checkSecretName(s string) string {
	if len(content.IsDNS1123Subdomain(s)) == 0 {
		return ""
	}
	return "is no name of a Secret: use lower case letters, digits, - and ."
}

func checkSecretKey(s string) string {
	if len(validation.IsConfigMapKey(s)) == 0 {
		return ""
	}
	return "is no key of a Secret: use letters, digits, -, _ and ."
}

var versionPattern = regexp.MustCompile(`^(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})\.(0|[1-9][0-9]{0,3})$`)

func checkVersion(s string) string {
	match := versionPattern.FindStringSubmatch(s)
	if match == nil {
		switch {
		case strings.Contains(s, "nightly"), s == "latest", s == "testing", s == "stable":
			return "names no release, so an upgrade could not be told from a downgrade: write one such as 6.4.3"
		}
		return "is no release of CrateDB: write one such as 6.4.3"
	}
	if len(match[1]) == 1 && match[1] < "4" {
		return "is older than 4.0.0, which is the oldest that can be run"
	}
	return ""
}

var registryPattern = regexp.MustCompile(`^[a-z0-9]+([._-]+[a-z0-9]+)*(:[0-9]+/[a-z0-9]+([._-]+[a-z0-9]+)*)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)

func checkImageRegistry(s string) string {
	if registryPattern.MatchString(s) {
		return ""
	}
	if i := strings.LastIndex(s, ":"); strings.Contains(s, "@") || (i >= 0 && !strings.Contains(s[i:], "/")) {
		return "has a tag or digest: write the image's name only, the version goes to spec.cluster.version"
	}
	return "is no name of an image: write for example crate or registry.example.com/crate"
}

func checkCIDR(s string) string {
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		if addr, err := netip.ParseAddr(s); err == nil && addr.Zone() == "" {
			return "is a single address: write " + netip.PrefixFrom(addr, addr.BitLen()).String()
		}
		return "is no network: write for example 192.0.2.0/24"
	}
	if masked := prefix.Masked(); masked != prefix {
		return "has bits after its prefix, which Kubernetes refuses: write " + masked.String()
	}
	return ""
}

func checkExternalDNS(s string) string {
	if len(content.IsDNS1123Subdomain(strings.TrimSuffix(s, "."))) == 0 {
		return ""
	}
	return "is no DNS name: write for example orders.example.com."
}

func checkExposure(s string) string {
	switch s {
	case "loadbalancer":
		return ""
	case "traefik":
		return "exposure-not-supported: only loadbalancer is supported yet: leave the field out"
	}
	return "is none of loadbalancer, traefik"
}

func checkNodepool(s string) string {
	if s != "" && len(content.IsLabelValue(s)) == 0 {
		return ""
	}
	return "is no value of a node's label: use letters, digits, -, _ and ., at most 63 characters"
}

func checkStorageClass(s string) string {
	if len(content.IsDNS1123Subdomain(s)) == 0 {
		return ""
	}
	return "is no name of a storage class: use lower case letters, digits, - and ."
}

func checkAttributesClass(s string) string {
	if len(content.IsDNS1123Subdomain(s)) == 0 {
		return ""
	}
	return "is no name of a VolumeAttributesClass: use lower case letters, digits, - and ."
}

func checkLabelKey(key string) string {
	if len(content.IsLabelKey(key)) == 0 {
		return ""
	}
	return "is no key of a label: write name or prefix/name, with letters, digits, -, _ and ., at most 63 characters after the prefix"
}

func checkLabelValue(s string) string {
	if len(content.IsLabelValue(s)) == 0 {
		return ""
	}
	return "is no value of a label: use letters, digits, -, _ and ., at most 63 characters"
}

// checkPodLabelKey refuses what selectors and informers find pods by.
func checkPodLabelKey(key string) string {
	switch key {
	case names.ManagedByLabel, names.ComponentLabel, names.NameLabel, names.PartOfLabel,
		names.NodeNameLabel, names.NodeDataLabel:
		return "is set by stevedore: take another key"
	}
	if strings.HasPrefix(key, names.Prefix) {
		return "is set by stevedore: take another key"
	}
	return checkLabelKey(key)
}

func checkAnnotationKey(key string) string {
	if strings.HasPrefix(key, names.Prefix) {
		return "is set by stevedore: take another key"
	}
	return annotationSyntax(key)
}

func annotationSyntax(key string) string {
	// Annotations' keys are those of labels, in any case.
	if len(content.IsLabelKey(strings.ToLower(key))) == 0 {
		return ""
	}
	return "is no key of an annotation: write name or prefix/name, with letters, digits, -, _ and ., at most 63 characters after the prefix"
}

var ownAnnotations = []string{
	names.RestartedAtAnnotation, names.PausedAnnotation, names.AbortAnnotation, names.ReleasedAnnotation,
}

func checkDefinitionAnnotation(key string) string {
	if !strings.HasPrefix(key, names.Prefix) {
		return annotationSyntax(key)
	}
	for _, own := range ownAnnotations {
		if key == own {
			return ""
		}
	}
	if near := spelling.Nearest(key, ownAnnotations); near != "" {
		return "unknown annotation: did you mean " + near + "?"
	}
	return "unknown annotation: known are " + strings.Join(ownAnnotations, ", ")
}

func checkDuration(s string) string {
	d, err := time.ParseDuration(s)
	if err != nil {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return "has no unit: write " + s + "s for seconds"
		}
		return "is no duration: write for example 60s, 30m or 1h30m"
	}
	if d <= 0 {
		return "is out of range: write more than 0s"
	}
	if d > 365*24*time.Hour {
		return "is longer than a year"
	}
	return ""
}

var basePattern = regexp.MustCompile(`^v[1-9][0-9]*$`)

func checkBase(s string) string {
	if basePattern.MatchString(s) {
		return ""
	}
	return "is no version of the base: write for example v1"
}

var consents = []string{
	string(ConsentSuspend), string(ConsentDeleteCluster), string(ConsentRemoveGroup), string(ConsentTwoMasters),
	string(ConsentWithoutBackups), string(ConsentExtendTableFilters), string(ConsentLeaveZone), string(ConsentTakeOver), string(ConsentDeleteVolumes),
}

func checkConsent(s string) string {
	for _, known := range consents {
		if s == known {
			return ""
		}
	}
	if near := spelling.Nearest(s, consents); near != "" {
		return "unknown consent: did you mean " + near + "?"
	}
	return "unknown consent: known are " + strings.Join(consents, ", ")
}

func checkPatchText(s string) string {
	if strings.TrimSpace(s) == "" {
		return "is empty: write the patch"
	}
	_, faults := located.Parse([]byte(s))
	if len(faults) > 0 {
		return faults[0].Message
	}
	return ""
}

func checkPatchPath(s string) string {
	if s == "" || strings.ContainsAny(s, ":\\") || path.IsAbs(s) || strings.HasPrefix(path.Clean(s), "..") {
		return "is no file below the definition's folder"
	}
	return ""
}
