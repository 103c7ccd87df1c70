// Loads a Compose file as `docker compose config` does, by the same loader, and prints the names of its services.
//
// The loader's own command stops at the schema; a service or volume that is named and not there shows only here.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithInterpolation(true), cli.WithConsistency(true))
	if err == nil {
		project, failed := options.LoadProject(context.Background())
		if err = failed; err == nil {
			for _, name := range project.ServiceNames() {
				fmt.Println(name)
			}
			return
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
