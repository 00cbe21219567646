package plan

import (
	"fmt"
	"slices"
	"strings"

	"stevedore.dev/stevedore/ops/model"
)

// FoundClaims are the volume claims that a cluster which is not there has left.
type FoundClaims struct {
	// Used are those on which its nodes start, of the clusters with these ids. Unused are
	// those of nodes that are not desired.
	Used     int
	Clusters []string
	Unused   []string
}

// FindClaims finds the claims with data of CrateDB that a new cluster would start on.
func FindClaims(desired *model.Desired, observed *model.Observed) FoundClaims {
	var found FoundClaims
	for i := range observed.Claims {
		c := &observed.Claims[i]
		if c.ClusterID == "" || c.Set == "" || !model.DataVolume(c.Template) {
			continue
		}
		node := func(s model.Set) bool { return s.Name == c.Set && c.Ordinal < s.Replicas }
		if !slices.ContainsFunc(desired.Sets, node) {
			found.Unused = append(found.Unused, c.Name)
			continue
		}
		if found.Used++; !slices.Contains(found.Clusters, c.ClusterID) {
			found.Clusters = append(found.Clusters, c.ClusterID)
		}
	}
	return found
}

func (f *FoundClaims) words() string {
	of := "cluster "
	if len(f.Clusters) > 1 {
		of = "clusters "
	}
	return fmt.Sprintf("%s with data of %s%s", count(f.Used, "volume claim"), of, strings.Join(f.Clusters, ", "))
}

// startOnLeft counts the new nodes of a grow whose volume claim was there before the grow began, with data. One that was
// made since is the new node's own: a plan may begin in the middle of a grow.
func startOnLeft(op *model.Operation, observed *model.Observed) int {
	nodes := map[string]bool{}
	for i := range observed.Claims {
		c := &observed.Claims[i]
		of := func(s model.RecordedSet) bool { return s.Name == c.Set && c.Ordinal < s.Replicas }
		left := c.ClusterID != "" && !c.Made.IsZero() && c.Made.Before(op.Started)
		if left && model.DataVolume(c.Template) && slices.ContainsFunc(op.To, of) && !slices.ContainsFunc(op.From, of) {
			nodes[fmt.Sprintf("%s-%d", c.Set, c.Ordinal)] = true
		}
	}
	return len(nodes)
}

// agree is the verb for one, or for more.
func agree(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// startsOnClaims names what is missing where a cluster that was deleted starts again with fewer
// nodes than have left claims.
func (c *course) startsOnClaims(op *model.Operation, desired *model.Desired, observed *model.Observed) {
	if op.Kind != model.OperationBootstrap {
		return
	}
	found := FindClaims(desired, observed)
	if found.Used == 0 {
		return
	}
	for _, claim := range found.Unused {
		c.out.AtRisk = append(c.out.AtRisk, Risk{Subject: claim, Why: "it has data of CrateDB, and no node starts on it: shards that are only there are missing"})
	}
	c.unknown("which tables are on the volume claims is not known before the nodes have started on them")
}
