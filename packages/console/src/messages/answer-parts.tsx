import type { Message, MessagingService } from '@org/agent-messaging-core'
import { orUndefined } from '@org/agent-messaging-core/host'
import type { Part } from '@org/agent-messaging-core/runtime'
import type { Child } from 'hono/jsx'
import { raw } from 'hono/html'
import { LINK, safeHtml } from '../parts/markdown.js'
import { Status } from '../parts/parts.js'
import { labels, shortened } from '../parts/wording.js'
import { useView } from '../parts/zone.js'

/** Returns the parts of an answer. Text alone is one part. */
export const partsOf = ({ state, parts }: Message): readonly Part[] | undefined =>
  state.kind === 'responded'
    ? (parts?.parts ?? [{ type: 'text', text: state.response }])
    : undefined

export const hasParts = ({ state }: Message) =>
  state.kind === 'responded' && state.hasParts === true

/** Reads the parts that the message has, and that its list does not have. */
export async function withParts({ messages }: MessagingService, message: Message) {
  if (!hasParts(message)) return message
  const { id: messageId, projectId, agentId: agent } = message
  return (await orUndefined(messages.get({ projectId, agent, messageId }))) ?? message
}

type PartsProps = {
  /** The id of the message. */
  readonly id: string
  readonly parts: readonly Part[]
  /** UTF-16 units of each text. */
  readonly most?: number
  /** Shows only the last parts. */
  readonly last?: number
  /** The HTML of texts that is there already. */
  readonly formatted?: ReadonlyMap<string, string> | undefined
}

/** Shows the parts of an answer in their order. Reasoning and tool calls are folded. */
export const AnswerParts = ({ id, parts, last = Infinity, ...props }: PartsProps) => (
  <>
    {parts.map(
      (part, at) =>
        at >= parts.length - last && <PartView id={`part-${at}-${id}`} part={part} {...props} />,
    )}
  </>
)

const toolLabel = labels<Extract<Part, { type: 'tool' }>['state']>({
  'input-streaming': 'busy',
  'input-available': 'busy',
  'output-available': 'good',
  'output-error': 'bad',
})

type PartProps = Pick<PartsProps, 'id' | 'most' | 'formatted'> & { readonly part: Part }

function PartView({ id, part, most = Infinity, formatted }: PartProps) {
  const words = (text: string, look?: string) => (
    <pre class={look} dir="auto" tabindex={0}>
      {shortened(text, most)}
    </pre>
  )
  switch (part.type) {
    case 'text': {
      const text = shortened(part.text, most)
      return <Said text={text} formatted={formatted?.get(text)} />
    }
    case 'reasoning':
      return (
        <Folded id={id} title="Reasoning">
          {words(part.text, 'prose')}
        </Folded>
      )
    case 'tool': {
      const { title, toolName, state, input, output, errorText } = part
      const name = (
        <>
          <bdi>{title ?? toolName}</bdi> <Status {...toolLabel({ kind: state })} />
        </>
      )
      return (
        <Folded id={id} title={name}>
          {input !== undefined && words(jsonOf(input))}
          {output !== undefined && words(jsonOf(output))}
          {errorText !== undefined && words(errorText, 'prose')}
        </Folded>
      )
    }
    case 'data':
      return (
        <div class="part">
          <p>
            <bdi>{part.name}</bdi>
          </p>
          {words(jsonOf(part.data))}
        </div>
      )
    case 'file':
      return <Source url={part.url} name={part.filename} kind={part.mediaType} />
    case 'source-url':
      return <Source url={part.url} name={part.title} kind="source" />
    case 'step':
      return (
        <p class="part">
          <strong>
            <bdi>{part.name ?? 'Step'}</bdi>
          </strong>
        </p>
      )
  }
}

type FoldedProps = { readonly id: string; readonly title: Child; readonly children: Child }

/** The script opens it again after an update, by the id. */
const Folded = ({ id, title, children }: FoldedProps) => (
  <details class="part">
    <summary id={id}>{title}</summary>
    {children}
  </details>
)

/** The indentation of deep JSON can be many times as long as the JSON. */
function jsonOf(value: unknown) {
  const [text, indented] = [JSON.stringify(value), JSON.stringify(value, null, 2)]
  return visible(indented.length > 4 * text.length + 1_024 ? text : indented)
}

/** Shows the marks that change the order of characters. They could hide the end of a file name. */
const visible = (text: string) =>
  text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`)

type SourceProps = {
  readonly url: string
  readonly name: string | undefined
  readonly kind: string
}

/** A link, because an image would tell its server who reads the answer. */
const Source = ({ url, name = url, kind }: SourceProps) => (
  <p class="part">
    <a href={/^https?:/i.test(url) ? url : undefined} {...LINK}>
      <bdi>{visible(name)}</bdi>
    </a>{' '}
    <bdi class="small">{kind}</bdi>
  </p>
)

type SaidProps = { readonly text: string; readonly formatted?: string | undefined }

/** Shows text of an answer as safe Markdown, or as the agent wrote it. */
function Said({ text, formatted }: SaidProps) {
  return useView().c.req.query('view') === 'raw' ? (
    <p class="said" dir="auto">
      {text}
    </p>
  ) : (
    <div class="said formatted" dir="auto">
      {raw(formatted ?? safeHtml(text))}
    </div>
  )
}
