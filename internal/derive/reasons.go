package derive

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/names"
)

const (
	ownersPath = "metadata.ownerReferences"
)

// known is a difference that is understood: what it means where that is not what the field would
// take, and the sentence about it.
type known struct {
	kind   string // a regular expression; "" for all
	path   string // a regular expression over the path
	effect Effect // "" where it is what the field takes
	reason string
}

const (
	ownedByDefinition = "with this owner Kubernetes deletes it together with crate-operator's CrateDB object; the adoption takes it off"
	staysTheirs       = "it is nobody's of stevedore's, and stays"
	// heldTemplate is why nothing of an adopted pod template changes in place, the gateway's counts excepted.
	heldTemplate = "an adopted StatefulSet keeps its pod template as it is until somebody asks for a restart"
)

var knownDifferences = compiled([]known{
	{"", `^metadata\.ownerReferences`, EffectInPlace, ownedByDefinition},
	{kindStatefulSet, `^spec\.volumeClaimTemplates\[[^\]]*\]\.metadata\.ownerReferences`, EffectInPlace,
		"claims that are made later would be born with this owner, and deleted with it; the adoption recreates the StatefulSet without it, and its pods stay"},
	{kindStatefulSet, `^spec\.volumeClaimTemplates\[[^\]]*\]\.spec\.resources\.requests\.storage$`, "",
		"claims do not shrink and a StatefulSet's templates do not change: it is recreated, and its pods stay"},
	{kindStatefulSet, `^spec\.replicas$`, "", "nodes join, or are drained and leave"},
	{"", `labels\["app\.kubernetes\.io/managed-by"\]$`, EffectInPlace, "crate-operator finds its pods by it, and leaves alone what has another value"},
	{"", `labels\["stevedore\.dev/cluster"\]$`, EffectInPlace, "it marks what stevedore looks after"},
	{"", `annotations\["operator\.cloud\.crate\.io/`, EffectNothing, "crate-operator's own notes, on a Secret with its values; the adoption takes them off what the CrateDB object owns"},
	{"", `annotations\["kubectl\.kubernetes\.io/`, EffectNothing, "kubectl's own note"},
	{kindStatefulSet, `\.containers\[crate\]\.lifecycle$`, "", "the hooks fetch a program that drains and changes settings by itself: stevedore does both, and holds those settings"},
	{kindStatefulSet, `\.containers\[crate\]\.readinessProbe$`, "", "ready is CrateDB's own answer, asked from inside of the pod, and not the JMX exporter's"},
	{kindStatefulSet, `\.command\[ssl\.keystore_(key_)?password\]$`, "", "CrateDB itself takes the password from its environment, and it is no longer among the arguments of the process"},
	{kindStatefulSet, `^spec\.template\.spec\.volumes\[crate-sql-exporter\]\.configMap\.name$`, "", "the same collectors, in the ConfigMap that stands beside the definition"},
	{kindStatefulSet, `^spec\.template\.spec\.containers$`, EffectNothing, "the order of containers says nothing"},
	{kindStatefulSet, `\[gateway\.`, EffectInPlace, "only a start of the whole cluster reads it"},
	{kindStatefulSet, `^metadata\.annotations`, EffectNothing, staysTheirs},
	{kindStatefulSet, `^spec\.template\.spec\.(affinity|topologySpreadConstraints|tolerations|nodeSelector)`, "", "where pods may be placed: the scheduler reads it when a pod is made"},
	{kindBudget, `^spec\.`, EffectInPlace, "stevedore writes the budget of the moment"},
	{"ConfigMap", `^data`, EffectInPlace, "the SQL exporter that is configured brings its own collectors: other metrics"},
})

// wholeObjects are those that one side alone has.
var wholeObjects = compiled([]known{
	{kindBudget, "live", EffectInPlace, "a pod under two budgets cannot be evicted: the adoption deletes this one, and the one over all data nodes takes its place"},
	{kindBudget, "rendered", EffectInPlace, "one budget over all data nodes: the copies of one shard may be in two groups"},
	{"Role|RoleBinding", "live", EffectNothing, "crate-operator's hooks read by it that they are to do nothing: it may go when no pod has them any more"},
	{"CronJob", "live", EffectInPlace, "it takes crate-operator's snapshots; the adoption suspends it, and stevedore is the scheduler of spec.backups"},
	{"ConfigMap", "live", EffectNothing, "pods that have not restarted mount it: it may go when none of them is left"},
	{kindStatefulSet, "live", EffectInPlace, "the definition has no such group: it is drained and removed, if the definition has the consent remove-group"},
	{kindStatefulSet, "rendered", EffectInPlace, "a group that does not run yet: its nodes would be made"},
	{"", "live", EffectNothing, staysTheirs},
	{"", "rendered", EffectInPlace, "it is made"},
})

type matcher struct {
	known
	kinds, paths *regexp.Regexp
}

func compiled(all []known) []matcher {
	var out []matcher
	for _, k := range all {
		m := matcher{known: k, paths: regexp.MustCompile(k.path)}
		if k.kind != "" {
			m.kinds = regexp.MustCompile("^(" + k.kind + ")$")
		}
		out = append(out, m)
	}
	return out
}

// keepsTemplate: a StatefulSet of crate-operator's, or an adopted one, has the pod template that it
// has until a person asks for a restart (docs/ownership.md).
func keepsTemplate(live *unstructured.Unstructured) bool {
	_, adopted := live.GetAnnotations()[names.AdoptedAnnotation]
	return adopted || live.GetLabels()[names.ManagedByLabel] == names.Operator
}

// hold makes what would change in place in a kept pod template wait for the restart. Settings that
// CrateDB takes live, and the counts of the gateway, change as on any other cluster.
func hold(d *Difference) {
	if d.Effect != EffectInPlace || !strings.HasPrefix(d.Path, "spec.template.") || strings.Contains(d.Path, ".command[") {
		return
	}
	d.Effect = EffectRestart
	if d.Reason == "" {
		d.Reason = heldTemplate
	}
}

// explain gives a difference its reason; the first that is known counts.
func explain(d *Difference) {
	table, path := knownDifferences, d.Path
	if path == "" {
		table, path = wholeObjects, "live"
		if d.Live == nil {
			path = "rendered"
		}
	}
	for _, k := range table {
		if k.kinds != nil && !k.kinds.MatchString(d.Object.Kind) || !k.paths.MatchString(path) {
			continue
		}
		d.Reason = k.reason
		if k.effect != "" {
			d.Effect = k.effect
		}
		return
	}
	if d.Rendered == nil && (strings.HasPrefix(path, "metadata.annotations") || strings.HasPrefix(path, "metadata.labels")) {
		d.Effect, d.Reason = EffectNothing, staysTheirs
	}
}
