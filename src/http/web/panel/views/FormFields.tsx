/** The fields of a connector's form. */
import { useId } from "preact/hooks"
import type { FormMistakes, FormValues, MethodField } from "../connect/FormValues.js"
import { useTexts } from "../texts/Words.js"

interface Control {
  readonly id: string
  readonly field: MethodField
  readonly value: string
  readonly describedBy: string | undefined
  readonly isWrong: boolean
  readonly change: (value: string) => void
}

const Choice = ({ change, describedBy, field, id, isWrong, value }: Control) => {
  const texts = useTexts()
  return (
    <select
      id={id}
      value={value}
      aria-describedby={describedBy}
      aria-invalid={isWrong}
      aria-required={field.required}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    >
      {(value === "" || !field.required) && <option value="">{field.required ? texts.choose : texts.nothing}</option>}
      {(field.options ?? []).map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  )
}

const modes = { string: "text", integer: "numeric", number: "decimal", boolean: "text" } as const

const Entry = ({ change, describedBy, field, id, isWrong, value }: Control) => {
  const attributes = {
    id,
    value,
    autocomplete: "off",
    autocapitalize: "none",
    spellcheck: false,
    "aria-describedby": describedBy,
    "aria-invalid": isWrong,
    "aria-required": field.required,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) => change(currentTarget.value)
  } as const
  return field.secret ? (
    <input {...attributes} type="password" />
  ) : (
    <input {...attributes} type="text" inputMode={modes[field.type]} />
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
  const { description, required, title, type } = field
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
  if (type === "boolean")
    return (
      <div class="field">
        <label class="tick">
          <input
            type="checkbox"
            checked={value === "true"}
            aria-describedby={control.describedBy}
            onChange={({ currentTarget }) => change(String(currentTarget.checked))}
          />
          {title}
        </label>
        {hint}
      </div>
    )
  return (
    <div class="field">
      <label for={id}>
        {title}
        {!required && <span class="soft"> ({texts.optional})</span>}
      </label>
      {field.options === null ? <Entry {...control} /> : <Choice {...control} />}
      {hint}
      {mistake !== undefined && (
        <span class="wrong" id={`${id}-wrong`}>
          {mistake}
        </span>
      )}
    </div>
  )
}

export const FormFields = ({
  change,
  fields,
  mistakes,
  values
}: {
  readonly fields: ReadonlyArray<MethodField>
  readonly values: FormValues
  readonly mistakes: FormMistakes
  readonly change: (values: FormValues) => void
}) => (
  <>
    {fields.map((field) => (
      <Field
        key={field.name}
        field={field}
        value={values[field.name] ?? ""}
        mistake={mistakes[field.name]}
        change={(value) => change({ ...values, [field.name]: value })}
      />
    ))}
  </>
)
