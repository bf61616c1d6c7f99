import { valueRule, type Setting, type Settings } from '@org/agent-messaging-core/host'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { repeatable } from '../options.js'

/** What the option of a setting has instead of the usual flags, or beside them. */
type Own = { readonly flags: string; readonly example?: string; readonly parse?: typeof valueIn }

/** The options of commands for the settings that have a label. `-` clears a setting. */
export function settingOptions(settings: Settings, own: Readonly<Record<string, Own>> = {}) {
  const options = Object.entries(settings)
    .filter(([, { label }]) => label)
    .map(([name, setting]) => ({ name, option: optionOf(name, setting, own[name]) }))
  return {
    addTo: (command: Command) =>
      options.reduce((added, { option }) => added.addOption(option), command),
    /** Returns the settings in the parsed options of a command. Others are undefined. */
    read: (parsed: object) => {
      const values = new Map<string, unknown>(Object.entries(parsed))
      return Object.fromEntries(
        options.map(({ name, option }) => [name, cleared(values.get(option.attributeName()))]),
      )
    },
  }
}

/** Commander turns the null of a parser into an empty text. */
const cleared = (value: unknown) => (value === '' ? null : value)

function optionOf(name: string, setting: Setting, own?: Own) {
  const { type, label = '', enum: choices, items, clearable } = setting
  const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const flags = own?.flags ?? `--${flag} <${type}>`
  const example = own?.example === undefined ? '' : `, such as ${own.example}`
  if (items?.enum) return repeatable(flags, label, items.enum)
  const option = new Option(flags, `${label}${example}`)
  if (choices) return option.choices(choices)
  if (!flags.includes('<')) return option
  const parse = own?.parse ?? valueIn
  return option.argParser((text) => (clearable && text === '-' ? null : parse(text, setting)))
}

/** The service checks texts. */
function valueIn(text: string, setting: Setting): unknown {
  const value = setting.type === 'string' ? text : jsonIn(text)
  const problem = setting.type === 'string' ? undefined : valueRule(setting, value)
  if (problem === undefined) return value
  throw new InvalidArgumentError(`It ${problem}.`)
}

/** Null if the text is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
