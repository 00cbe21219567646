package definition

import "stevedore.dev/stevedore/render/internal/located"

// The fields of a definition: those of crate-operator 2.63's CRD, and our
// spec.operations and spec.patches. apiVersion and kind are asked for by what
// tells a definition from other objects. The strict checks, the typed definition
// and kustomize's merge keys all come from this one table.
var (
	root  = object("", text("apiVersion", nil), text("kind", nil), metadata(), spec()).Field
	index = located.NewIndex(root)
)

// field wraps located.Field so that the table below reads as one.
type field struct{ *located.Field }

func object(name string, children ...field) field {
	f := &located.Field{Name: name, Kind: located.Object}
	for _, child := range children {
		f.Fields = append(f.Fields, child.Field)
	}
	return field{f}
}

func text(name string, check func(string) string) field {
	return field{&located.Field{Name: name, Kind: located.Text, Check: check}}
}

func oneOf(name string, values ...string) field {
	return field{&located.Field{Name: name, Kind: located.Text, Enum: values}}
}

func list(name, mergeKey string, items field) field {
	return field{&located.Field{Name: name, Kind: located.List, MergeKey: mergeKey, Items: items.Field}}
}

func free(name string, key, value func(string) string, kind located.Kind) field {
	return field{&located.Field{Name: name, Kind: located.Map, CheckKey: key,
		Items: &located.Field{Kind: kind, Check: value}}}
}

func number(name string, check func(string) string) field {
	return field{&located.Field{Name: name, Kind: located.Number, Check: check}}
}

func whole(name string, low float64, high ...float64) field {
	f := &located.Field{Name: name, Kind: located.Integer, Min: &low}
	if len(high) > 0 {
		f.Max = &high[0]
	}
	return field{f}
}

func boolean(name string) field {
	return field{&located.Field{Name: name, Kind: located.Boolean}}
}

func refused(name, message string) field {
	return field{&located.Field{Name: name, Kind: located.Any, Refused: message}}
}

func (f field) req() field { f.Required = true; return f }

func (f field) atLeastOne() field {
	one := 1.0
	f.Min = &one
	return f
}

const secretKeyRefField = "secretKeyRef"

func secretKeyRef(name string) field {
	return object(name, object(secretKeyRefField,
		text("key", checkSecretKey).req(), text("name", checkSecretName).req()).req())
}

func metadata() field {
	serverOwned := "is written by the API server: leave it out"
	created := field{&located.Field{Name: "creationTimestamp", Kind: located.Any, Null: true}}
	return object("metadata",
		text("name", checkName).req(),
		text("namespace", CheckNamespace),
		free("labels", checkLabelKey, checkLabelValue, located.Text),
		free("annotations", checkDefinitionAnnotation, nil, located.Text),
		created,
		refused("generateName", "a cluster has a fixed name: write metadata.name"),
		refused("finalizers", "keeps nothing here, the definition is not stored in Kubernetes: leave it out"),
		refused("ownerReferences", serverOwned), refused("generation", serverOwned),
		refused("resourceVersion", serverOwned), refused("uid", serverOwned),
		refused("managedFields", serverOwned), refused("selfLink", serverOwned),
		refused("deletionTimestamp", serverOwned),
	).req()
}

func spec() field {
	return object("spec",
		cluster().req(),
		object("nodes", nodeGroup("master", false),
			list("data", "name", nodeGroup("", true)).req().atLeastOne()).req(),
		list("users", "name", object("", text("name", checkUserName).req(), secretKeyRef("password").req())),
		// The CRD requires each port and fills it with a default, so none has
		// to be written.
		object("ports", port("exporter"), port("http"), port("jmx"), port("postgres"),
			port("prometheus"), port("transport")),
		backups(),
		refused("grandCentral", "grand-central-not-supported: Grand Central is not supported yet: leave the field out"),
		operations(),
		list("patches", "", patch()),
	).req()
}

func port(name string) field { return whole(name, 1, 65535) }

func cluster() field {
	return object("cluster",
		text("imageRegistry", checkImageRegistry).req(),
		text("name", checkClusterName).req(),
		text("version", checkVersion).req(),
		list("allowedCIDRs", "", text("", checkCIDR)),
		text("externalDNS", checkExternalDNS),
		secretKeyRef("license"),
		free("settings", checkSettingName, checkSettingValue, located.Scalar),
		object("service", free("annotations", checkAnnotationKey, nil, located.Text)),
		object("ssl", secretKeyRef("keystore").req(), secretKeyRef("keystoreKeyPassword").req(),
			secretKeyRef("keystorePassword").req()),
		text("exposure", checkExposure),
		refused("restoreSnapshot", "restore-snapshot-not-supported: write spec.backups.restore, from which a new cluster is made, and leave this field out"),
	)
}

// What a group and a cluster may have: far more than CrateDB runs with, and few
// enough that a slip of the finger, or a stranger, does not make lists of a
// thousand million names.
const (
	MaxReplicas = 1000
	maxDisks    = 64
	maxGroups   = 100
)

func nodeGroup(name string, data bool) field {
	amounts := func(name string) field {
		return object(name, number("cpu", checkCPU), text("memory", checkMemory))
	}
	children := []field{
		whole("replicas", 0, MaxReplicas).req(),
		text("nodepool", checkNodepool),
		free("labels", checkPodLabelKey, checkLabelValue, located.Text),
		free("annotations", checkAnnotationKey, nil, located.Text),
		free("settings", checkSettingName, checkSettingValue, located.Scalar),
		object("resources",
			amounts("limits"), amounts("requests"),
			number("cpus", checkCPU), text("memory", checkMemory),
			object("disk", whole("count", 1, maxDisks).req(), text("size", checkDiskSize).req(),
				text("storageClass", checkStorageClass).req(), text("volumeAttributesClass", checkAttributesClass)).req(),
			number("heapRatio", checkHeapRatio).req(),
		).req(),
	}
	if data {
		children = append([]field{text("name", checkGroupName).req()}, children...)
	}
	return object(name, children...)
}

func operations() field {
	return object("operations",
		list("consent", "", text("", checkConsent)),
		text("stableFor", checkDuration), text("masterStableFor", checkDuration),
		text("bootstrapTimeout", checkDuration), text("scaleTimeout", checkDuration),
		text("restartTimeout", checkDuration), text("budgetTimeout", checkDuration),
		oneOf("unreplicated", "proceed", "refuse"),
		oneOf("settledYellow", "refuse", "proceed"),
		oneOf("unhealable", "refuse", "proceed"),
		oneOf("restartBy", "pod", "zone"),
		oneOf("offlineResize", "wait", "restart"),
		oneOf("noNodeFits", "wait", "proceed"),
		oneOf("resize", "in-place", "restart"),
		oneOf("adoption", "never", "if-unowned", "always"),
		refused("maintenanceWindows", "maintenance-windows-not-supported: restarts begin as soon as they are safe, whatever the time: leave the field out, and pause the cluster until its hour"),
		text("base", checkBase),
		oneOf("sysctl", "container", SysctlHost),
		adoptField(),
		object("debugVolume", text("size", checkDiskSize), text("storageClass", checkStorageClass)),
		refused("snapshotNewerThan", "snapshot-newer-than-not-supported: not supported yet: leave the field out"),
		refused("recoveries", "recoveries-not-supported: not supported yet: leave the field out"),
	)
}

func patch() field {
	return object("",
		text("patch", checkPatchText), text("path", checkPatchPath),
		object("target", text("group", nil), text("version", nil), text("kind", nil), text("name", nil),
			text("namespace", nil), text("labelSelector", nil), text("annotationSelector", nil)),
		object("options", boolean("allowNameChange"), boolean("allowKindChange")))
}
