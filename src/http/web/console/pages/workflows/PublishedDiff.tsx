/** What differs between the published version and the draft: text and contracts. */
import type { ApiSchemas } from "../../api/Client.js"
import { Compare } from "../../ui/Editor.js"
import { contentText, draftText } from "./draftText.js"

type Workflow = ApiSchemas["Workflow"]
type Content = NonNullable<Workflow["published"]>

const schemaText = (schema: unknown): string => (schema === null ? "" : JSON.stringify(schema, null, 2))

/** `isDiscarding`: the draft becomes the published version, and not the other way round. */
export const PublishedDiff = ({
  isDiscarding = false,
  published,
  workflow
}: {
  readonly workflow: Workflow
  readonly published: Content
  readonly isDiscarding?: boolean
}) => {
  const parts = [
    {
      name: "",
      language: workflow.form === "code" ? ("javascript" as const) : ("json" as const),
      version: contentText(published),
      draft: draftText(workflow)
    },
    {
      name: "Input contract, ",
      language: "json" as const,
      version: schemaText(published.inputContract),
      draft: schemaText(workflow.inputContract)
    },
    {
      name: "Output contract, ",
      language: "json" as const,
      version: schemaText(published.outputContract),
      draft: schemaText(workflow.outputContract)
    }
  ].filter(({ draft, version }) => draft !== version)
  if (parts.length === 0)
    return <p className="soft">The text and the contracts are those of version {published.version}.</p>
  return parts.map(({ draft, language, name, version }) => {
    const [ofVersion, ofDraft] = [`${name}version ${published.version}`, `${name}the draft`]
    return isDiscarding ? (
      <Compare
        key={name}
        language={language}
        before={draft}
        beforeLabel={ofDraft}
        after={version}
        afterLabel={ofVersion}
      />
    ) : (
      <Compare
        key={name}
        language={language}
        before={version}
        beforeLabel={ofVersion}
        after={draft}
        afterLabel={ofDraft}
      />
    )
  })
}
