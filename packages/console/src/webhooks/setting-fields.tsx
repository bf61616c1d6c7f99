import type { Setting, Settings } from '@org/agent-messaging-core/runtime'
import { textIn, type Form } from '../parts/input.js'

/** The texts of a form for the settings that have a label. The default has an empty text. */
export type Texts = Readonly<Record<string, string>>
type Values = Readonly<Record<string, unknown>>

/** Maps the settings that have a label. An object has a form of its own. */
const mapped = <T,>(settings: Settings, map: (setting: Setting, name: string) => T) =>
  Object.fromEntries(
    Object.entries(settings)
      .filter(([, { label, type }]) => label && type !== 'object')
      .map(([name, setting]) => [name, map(setting, name)]),
  )

export const textsIn = (settings: Settings, form: Form): Texts =>
  mapped(settings, (_, name) => textIn(form, name).trim())
export const textsOf = (settings: Settings, values: Values): Texts =>
  mapped(settings, (setting, name) => textOf(setting, values[name]))
/** The service refuses a text of another type. */
export const settingsIn = (settings: Settings, texts: Texts): Values =>
  mapped(settings, (setting, name) => valueIn(setting, texts[name]))

/** The text of a list without items. */
const NONE = 'none'

function textOf({ default: initial }: Setting, value: unknown): string {
  if (value === initial || value === undefined) return ''
  return value === true ? 'yes' : [value].flat().map(String).join(', ') || NONE
}

function valueIn({ type, default: initial }: Setting, text = ''): unknown {
  if (text === '') return initial ?? null
  if (type === 'boolean') return text === 'yes'
  if (type === 'array') return text === NONE ? [] : text.split(',').map(Number)
  return type === 'string' ? text : Number(text)
}

export const titleOf = ({ label = '', unit }: Setting): string =>
  `${label.charAt(0).toUpperCase()}${label.slice(1)}${unit ? ` in ${unit}` : ''}`

type Props = { readonly settings: Settings; readonly texts: Texts }

/** The fields of a form. The second of two choices is a checkbox. */
export const SettingFields = ({ settings, texts }: Props) => (
  <>
    {Object.entries(settings).map(([name, setting]) => {
      const { type, enum: choices, maxLength, unset, examples = [] } = setting
      const text = texts[name]
      return choices || type === 'boolean' ? (
        <label class="check">
          <input type="checkbox" name={name} value={choices?.[1] ?? 'yes'} checked={!!text} />
          {titleOf(setting)}
        </label>
      ) : (
        <div>
          <label for={name}>
            {titleOf(setting)}
            {type === 'array' && `, or ${NONE}`}
          </label>
          <input
            id={name}
            name={name}
            value={text}
            maxlength={maxLength}
            placeholder={textOf(setting, examples[0]) || unset}
          />
        </div>
      )
    })}
  </>
)
