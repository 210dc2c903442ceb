/** The fields of a form. */
import { useId } from "preact/hooks"
import { entryOf, type FormField, type FormMistakes, type FormValues } from "../forms/Form.js"
import { isGroup, type FieldGroup, type SchemaForm } from "../forms/SchemaForm.js"
import { useTexts } from "../texts/Words.js"

interface Control {
  readonly id: string
  readonly field: FormField
  readonly value: string
  readonly describedBy: string | undefined
  readonly isWrong: boolean
  readonly change: (value: string) => void
}

/** Without a choice that is a text without characters: that is the choice of nothing. */
const Choice = ({ change, describedBy, field, id, isWrong, value }: Control) => {
  const texts = useTexts()
  const options = field.options ?? []
  return (
    <select
      id={id}
      value={value}
      aria-describedby={describedBy}
      aria-invalid={isWrong}
      aria-required={field.required}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    >
      {(value === "" || !field.required || options.includes("")) && (
        <option value="">{field.required && !options.includes("") ? texts.choose : texts.nothing}</option>
      )}
      {options
        .filter((one) => one !== "")
        .map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
    </select>
  )
}

const modes = { string: "text", integer: "numeric", number: "decimal", boolean: "text" } as const
const modesOfFormats = { email: "email", uri: "url", url: "url" } as const

/** A keyboard without a minus, as phones have it, only where none can be needed. */
const modeOf = ({ format, min, over, type }: FormField) => {
  const [, byFormat] = Object.entries(modesOfFormats).find(([name]) => name === format) ?? []
  if (type === "string") return byFormat ?? modes.string
  return (min ?? over ?? -1) < 0 ? "text" : modes[type]
}

/** Days are chosen in a calendar, unless there is something else already. */
const isDay = ({ format }: FormField, value: string) =>
  format === "date" && (value === "" || /^\d{4}-\d{2}-\d{2}$/.test(value))

const Entry = ({ change, describedBy, field, id, isWrong, value }: Control) => {
  const attributes = {
    id,
    value,
    readOnly: field.isFixed === true,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: false,
    "aria-describedby": describedBy,
    "aria-invalid": isWrong,
    "aria-required": field.required,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => change(currentTarget.value)
  } as const
  if (field.secret) return <input {...attributes} type="password" />
  return isDay(field, value) ? (
    <input {...attributes} type="date" />
  ) : (
    <input {...attributes} type="text" inputMode={modeOf(field)} />
  )
}

const Field = ({
  change,
  field,
  mistake,
  value
}: Pick<Control, "change" | "field" | "value"> & { readonly mistake: string | undefined }) => {
  const texts = useTexts()
  const id = useId()
  const { description, isFixed = false, options, required, title, type } = field
  const described = [description === null ? "" : `${id}-hint`, mistake === undefined ? "" : `${id}-wrong`]
  const control = {
    id,
    field,
    value,
    change,
    isWrong: mistake !== undefined,
    describedBy: described.filter(Boolean).join(" ") || undefined
  }
  const hint = description !== null && (
    <span class="hint" id={`${id}-hint`}>
      {description}
    </span>
  )
  const wrong = mistake !== undefined && (
    <span class="wrong" id={`${id}-wrong`}>
      {mistake}
    </span>
  )
  if (type === "boolean")
    return (
      <div class="field">
        <label class="tick">
          <input
            type="checkbox"
            checked={value === "true"}
            disabled={isFixed}
            aria-describedby={control.describedBy}
            aria-invalid={control.isWrong}
            onChange={({ currentTarget }) => change(String(currentTarget.checked))}
          />
          {title}
        </label>
        {hint}
        {wrong}
      </div>
    )
  return (
    <div class="field">
      <label for={id}>
        {title}
        {!required && !isFixed && <span class="soft"> ({texts.optional})</span>}
      </label>
      {options === null || isFixed ? <Entry {...control} /> : <Choice {...control} />}
      {hint}
      {wrong}
    </div>
  )
}

interface Entered {
  readonly values: FormValues
  readonly mistakes: FormMistakes
  readonly change: (values: FormValues) => void
}

export const FormFields = ({
  change,
  fields,
  mistakes,
  values
}: Entered & { readonly fields: ReadonlyArray<FormField> }) => (
  <>
    {fields.map((field) => (
      <Field
        key={field.name}
        field={field}
        value={entryOf(values, field.name) ?? ""}
        mistake={entryOf(mistakes, field.name)}
        change={(value) => change({ ...values, [field.name]: value })}
      />
    ))}
  </>
)

const GroupFields = ({ group, ...entered }: Entered & { readonly group: FieldGroup }) => {
  const texts = useTexts()
  const id = useId()
  const { description, fields, required, title } = group
  return (
    <fieldset class="group" aria-describedby={description === null ? undefined : id}>
      <legend>
        {title}
        {!required && <span class="soft"> ({texts.optional})</span>}
      </legend>
      {description !== null && (
        <p class="hint" id={id}>
          {description}
        </p>
      )}
      <FormFields fields={fields} {...entered} />
    </fieldset>
  )
}

/** The fields of a schema, with its groups. */
export const SchemaFields = ({ form, ...entered }: Entered & { readonly form: SchemaForm }) => (
  <>
    {form.parts.map((part) =>
      isGroup(part) ? (
        <GroupFields key={part.property} group={part} {...entered} />
      ) : (
        <FormFields key={part.property} fields={[part]} {...entered} />
      )
    )}
  </>
)
