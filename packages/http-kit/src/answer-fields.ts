import type { AnswerField, FormTexts } from '@org/agent-messaging-core/host'
import { html } from 'hono/html'

type Html = ReturnType<typeof html>
type AnswerFieldsProps = {
  /** What a person has typed. Default: the defaults of the schema. */
  readonly texts?: FormTexts | undefined
  /** What is wrong, by the names of the fields. */
  readonly problems?: Readonly<Record<string, string>> | undefined
  /** The script of the page chooses an answer by its key. */
  readonly hasKeys?: boolean
}

/**
 * The fields of an answer, on every page that has a form for it. The texts of the agent and of the
 * person are escaped. The form needs `novalidate`, so that the page shows all problems at once.
 */
export function answerFieldsHtml(
  fields: readonly AnswerField[],
  { texts, problems = {}, hasKeys = false }: AnswerFieldsProps = {},
): Html {
  const keyed = hasKeys ? fields.find((one) => Object.keys(keysOf(one)).length > 0) : undefined
  const shown = fields.map((field, at) => ({
    field,
    id: `answer-${at}`,
    texts: texts ? texts(field.name) : field.initial,
    problem: problems[field.name],
    keys: field === keyed ? keysOf(field) : {},
  }))
  const refused = shown.filter(({ problem }) => problem !== undefined)
  return html`${refused.length > 0 && summary(refused)}${shown.map(fieldHtml)}`
}

type Shown = {
  readonly field: AnswerField
  readonly id: string
  readonly texts: readonly string[]
  readonly problem: string | undefined
  /** The keys by the texts of choices. */
  readonly keys: Readonly<Record<string, string>>
}

const KEYS = { a: /^(approve|accept|allow|yes)\b/i, r: /^(reject|deny|decline|no)\b/i }

/** Approving and rejecting have keys. */
function keysOf({ kind, choices }: AnswerField): Readonly<Record<string, string>> {
  if (kind !== 'choice') return {}
  const found = Object.entries(KEYS).flatMap(([key, word]) => {
    const choice = choices.find(({ label }) => word.test(label))
    return choice ? [[choice.text, key] as const] : []
  })
  return Object.fromEntries(found)
}

const summary = (refused: readonly Shown[]): Html =>
  html`<div class="problem" role="alert" tabindex="-1" autofocus>
    <p>Nothing was sent yet. Please change ${refused.length === 1 ? 'this field' : `these ${refused.length} fields`}:</p>
    <ul>${refused.map(({ field, id }) => html`<li><a href="#${id}"><bdi>${field.label}</bdi></a></li>`)}</ul>
  </div>`

function fieldHtml(shown: Shown): Html {
  const { field, id, problem } = shown
  const { label, kind, choices, isRequired, description, needs = '' } = field
  const hint =
    choices.length === 0 && needs !== '' && `${needs.charAt(0).toUpperCase()}${needs.slice(1)}.`
  const notes = html`<div id="${id}-notes">
    ${description !== undefined && html`<p class="muted" dir="auto">${description}</p>`}
    ${hint && html`<p class="muted">${hint}</p>`}
    ${problem !== undefined && html`<p class="problem">${problem}</p>`}
  </div>`
  const name = html`<bdi>${label}</bdi>${isRequired && html` <span class="muted">(required)</span>`}`
  const described = html`aria-describedby="${id}-notes"${problem !== undefined && html` aria-invalid="true"`}`
  if (choices.length === 0)
    return html`<div class="field"><label for="${id}">${name}</label>${notes}${controlHtml(shown, described)}</div>`
  const role =
    kind === 'choice' ? html`role="radiogroup" ${described}` : html`aria-describedby="${id}-notes"`
  return html`<fieldset class="field" id="${id}" tabindex="-1" ${role}>
    <legend>${name}</legend>${notes}${choices.map((choice) => choiceHtml(shown, choice))}${Object.keys(shown.keys).length > 0 && html`<p class="muted small keys">A key chooses an answer. Enter then sends it.</p>`}
  </fieldset>`
}

function choiceHtml(
  { field, texts, keys }: Shown,
  { text, label }: AnswerField['choices'][number],
): Html {
  const type = field.kind === 'choice' ? 'radio' : 'checkbox'
  const isRequired = type === 'radio' && field.isRequired
  const key = Object.hasOwn(keys, text) ? keys[text] : undefined
  const byKey = key !== undefined && html` data-key="${key}" aria-keyshortcuts="${key}"`
  return html`<label class="check"><input type="${type}" name="${field.name}" value="${text}"${texts.includes(text) && html` checked`}${isRequired && html` required`}${byKey} /> <bdi>${label}</bdi>${key !== undefined && html` <kbd>${key.toUpperCase()}</kbd>`}</label>`
}

const ROWS = { text: 3, list: 4, json: 6 } as const

function controlHtml({ field, id, texts }: Shown, described: Html): Html {
  const { name, kind, isRequired, needs = '' } = field
  const text = texts.join('\n')
  const shared = html`id="${id}" name="${name}" dir="auto" ${described}${isRequired && html` required`}`
  // A browser removes one line end at the start.
  if (kind === 'text' || kind === 'list' || kind === 'json')
    return html`<textarea rows="${ROWS[kind]}" ${shared}>
${text}</textarea>`
  // A field for dates or numbers alone would drop what it cannot read.
  const isDate = kind === 'date' && /^(\d{4}-\d{2}-\d{2})?$/.test(text)
  const digits = kind === 'number' && /(least|above) \d/.test(needs) && html` inputmode="decimal"`
  return html`<input type="${isDate ? 'date' : 'text'}" value="${text}" ${shared}${digits} />`
}
