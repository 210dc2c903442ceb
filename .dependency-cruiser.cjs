/** Who may import whom: the table of ARCHITECTURE.md, as rules. */
module.exports = {
  forbidden: [
    { name: "no-circular", severity: "error", from: {}, to: { circular: true } },
    { name: "no-orphans", severity: "error", from: { orphan: true, path: "^src/", pathNot: "^src/runtime/(program/Main|cli/|sandbox/(runner|flow)/)|^src/http/(web/console/Main|rpc/client/Package)" }, to: {} },
    { name: "domain-is-pure", severity: "error", from: { path: "^src/domain/" },
      to: { pathNot: ["^src/domain/", "node_modules/effect/", "node_modules/re2js/", "node_modules/croner/"] } },
    { name: "actors-know-no-driver", severity: "error", from: { path: "^src/actors/" },
      to: { pathNot: ["^src/(domain|actors)/", "node_modules/effect/", "node_modules/@effect/(cluster|rpc|workflow|platform)/"] } },
    { name: "actor-to-actor-through-protocol", severity: "error", from: { path: "^src/actors/([^/]+)/" },
      to: { path: "^src/actors/([^/]+)/", pathNot: ["^src/actors/$1/", "^src/actors/ports/", "/Protocol\\.ts$"] } },
    { name: "console-is-browser-code", severity: "error",
      comment: "The console runs in a browser: of the service it takes types, and functions of src/domain without libraries.",
      from: { path: "^src/http/web/" },
      to: { pathNot: ["^src/http/web/", "^src/domain/", "^console-api$", "node_modules/(@ariakit|@codemirror|@lezer|@tanstack|codemirror|openapi-fetch|react|react-dom|uplot|wouter)/"] } },
    { name: "nothing-imports-the-console", severity: "error", from: { path: "^src/", pathNot: "^src/http/web/" }, to: { path: "^src/http/web/" } },
    { name: "http-knows-no-driver", severity: "error", from: { path: "^src/http/", pathNot: "^src/http/(web|rpc/client)/" },
      to: { pathNot: ["^src/(domain|actors|http)/", "node_modules/effect/", "node_modules/@effect/(cluster|rpc|platform)/"] } },
    { name: "rpc-client-runs-alone", severity: "error",
      comment: "Other services import it from the package: it takes no code of the server, and no driver but WebSockets.",
      from: { path: "^src/http/rpc/client/" },
      to: { pathNot: ["^src/http/rpc/client/", "^src/domain/", "node_modules/(effect|ws|@types/ws)/", "node_modules/@effect/(rpc|platform)/"] } },
    { name: "nothing-imports-the-rpc-client", severity: "error",
      from: { path: "^src/", pathNot: "^src/http/rpc/client/" }, to: { path: "^src/http/rpc/client/" } },
    { name: "http-asks-use-cases-and-actors-protocols", severity: "error", from: { path: "^src/http/" },
      to: { path: "^src/actors/", pathNot: ["^src/actors/[^/]+/Protocol\\.ts$", "^src/actors/ports/", "^src/actors/management/"] } },
    { name: "surfaces-do-not-mix", severity: "error", from: { path: "^src/http/(execution|tenant|mcp)/" },
      to: { path: "^src/http/(execution|tenant|mcp)/", pathNot: "^src/http/$1/" } },
    { name: "operations-know-no-front", severity: "error", from: { path: "^src/http/operations?/" },
      to: { path: "^src/http/(auth|documents|execution|pipeline|reference|tenant|webhook)/", pathNot: "^src/http/pipeline/Exchange\\.ts$" } },
    { name: "tenants-inputs-are-computed-in-workers", severity: "error",
      comment: "Patterns, schemas, documents, sources and drawings cost what a tenant chooses: ask the port Computations. A command reads the operator's files.",
      from: { path: "^src/", pathNot: "^src/runtime/(computing/(worker|workflow)/|cli/ConnectorCheck\\.ts$)" },
      to: { path: "node_modules/(@cfworker|yaml|acorn|@dagrejs)/|^src/domain/connector/import/OpenApi\\.ts|^src/runtime/computing/(worker|workflow)/",
            dependencyTypesNot: ["type-only"] } },
    { name: "patterns-are-compiled-in-workers", severity: "error",
      comment: "What a pattern costs to compile a tenant chooses: ask src/actors/Patterns.ts.",
      from: { path: "^src/", pathNot: "^src/runtime/(computing/(worker/|workflow/Flow)|cli/ConnectorCheck\\.ts$)|^src/domain/(expression/Pattern|connector/(ActionChecks|AuthChecks|EventChecks|Validation|import/.*))\\.ts$" },
      to: { path: "node_modules/re2js/|^src/domain/(expression/Pattern|connector/(ActionChecks|AuthChecks|EventChecks|Validation))\\.ts$",
            dependencyTypesNot: ["type-only"] } },
    { name: "nothing-imports-runtime", severity: "error", from: { path: "^src/", pathNot: "^src/runtime/" }, to: { path: "^src/runtime/" } }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"], conditionNames: ["import", "types", "node", "default"], mainFields: ["module", "main", "types"]
    },
    moduleSystems: ["es6"]
  }
}
