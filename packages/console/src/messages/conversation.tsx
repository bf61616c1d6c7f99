import { setImmediate as nextTurn } from 'node:timers/promises'
import { MessagingError, type Agent, type Message, type Page } from '@org/agent-messaging-core'
import type { Part } from '@org/agent-messaging-core/runtime'
import { isFinal, isRetryable, toIso } from '@org/agent-messaging-core/storage'
import { type ConsoleDeps, type PageRequest, BASE } from '../context.js'
import { agentRef, can, pageOf, sessionIn } from '../parts/input.js'
import { withKnownName } from '../agents.js'
import { show } from '../parts/layout.js'
import { safeHtml } from '../parts/markdown.js'
import {
  CopyButton,
  Facts,
  formatDuration,
  FullTime,
  Id,
  Post,
  Status,
  Time,
  Card,
} from '../parts/parts.js'
import { AnswerParts, hasParts, partsOf } from './answer-parts.js'
import { sessionsPath } from './message-table.js'
import { nameOf, Questions } from './questions.js'
import { type Draft, SendForm } from './send-form.js'
import { Next, pathOf } from '../parts/table.js'
import { ErrorText, messageLabel, shortened } from '../parts/wording.js'
import { useView } from '../parts/zone.js'

const PAGE_LENGTH = 50
/** UTF-16 units of each text. More would block the process and the browser. */
const SHOWN_TEXT = 16_384
/** Parts of each answer. */
const SHOWN_PARTS = 100

/** The session is part of the query. Browsers and proxies change paths with `..` or a slash. */
const withSession = (path: string, sessionId: string) =>
  `${path}?${new URLSearchParams({ session: sessionId }).toString()}`
export const sessionPath = (agent: string, sessionId: string) =>
  withSession(`${BASE}/sessions/${agent}`, sessionId)
type SessionProps = { readonly agent: string; readonly sessionId: string }
export const SessionLink = ({ agent, sessionId }: SessionProps) => (
  <a href={sessionPath(agent, sessionId)}>
    <bdi>{sessionId}</bdi>
  </a>
)
export const erasePath = (agent: string, sessionId: string) =>
  withSession(`${BASE}/sessions/${agent}/erase`, sessionId)

type HeadingProps = { readonly name: string; readonly erase: string | false }

/** The heading of a session or a person. `erase`: the page that erases it. */
export const NameHeading = ({ name, erase }: HeadingProps) => (
  <div class="heading">
    <h1 class="long" dir="auto">
      {name}
    </h1>
    {erase && (
      <a class="button quiet" href={erase}>
        Erase
      </a>
    )}
  </div>
)

/** Shows a conversation, newest message last, with a form for the next message. */
export async function conversationPage(c: PageRequest, { service }: ConsoleDeps, draft?: Draft) {
  const ref = agentRef(c)
  const sessionId = sessionIn(c)
  const page = { ...pageOf(c), limit: PAGE_LENGTH }
  const found = await service.agents.get(ref)
  const asked = { projectId: ref.projectId, agent: found.id, sessionId, ...page }
  const plain = await service.messages.list(asked)
  const messages = plain.data.some(hasParts)
    ? await service.messages.list({ ...asked, parts: true })
    : plain
  if (messages.data.length === 0) throw new MessagingError({ kind: 'session_not_found' })
  const agent = withKnownName(c, found, ref.agent)
  const isRaw = c.req.query('view') === 'raw'
  const formatted = isRaw ? undefined : await formattedAnswers(messages.data)
  // Only the newest page gets new messages.
  const livePath = c.req.query('cursor') === undefined ? liveOf(pathOf(c)) : undefined
  return show(
    c,
    { title: sessionId, section: 'Conversations', problem: draft?.problem },
    <>
      <p class="crumbs">
        <a href={sessionsPath(agent.name)}>{agent.name}</a> / session
      </p>
      <NameHeading
        name={sessionId}
        erase={can(c, 'sessions.erase') && erasePath(agent.name, sessionId)}
      />
      <Next cursor={messages.nextCursor} label="Earlier" />
      <div class="beside">
        <div class="talk">
          <div role="group" aria-label="Conversation" class="conversation" data-live={livePath}>
            {messages.data.toReversed().map((message) => (
              <Turn agent={agent} message={message} formatted={formatted} />
            ))}
          </div>
          {can(c, 'messages.send') && (
            <section class="card" id="end" aria-labelledby="send">
              <h2 id="send">Send a message</h2>
              <SendForm action={sessionPath(agent.name, sessionId)} agent={agent} draft={draft} />
            </section>
          )}
        </div>
        <div class="details">
          <SessionFacts agent={agent} sessionId={sessionId} messages={messages} />
        </div>
      </div>
      <p id="news" class="hidden" role="status" />
    </>,
  )
}

/** Formats one text after the other, so that the process does other work between them. */
async function formattedAnswers(messages: readonly Message[]) {
  const formatted = new Map<string, string>()
  for (const part of messages.flatMap((one) => partsOf(one)?.slice(-SHOWN_PARTS) ?? [])) {
    if (part.type !== 'text') continue
    const text = shortened(part.text, SHOWN_TEXT)
    formatted.set(text, safeHtml(text))
    await nextTurn()
  }
  return formatted
}

/** Returns the address of the stream behind a conversation. */
const liveOf = (path: string) => path.replace('?', '/live?')

type FactsProps = {
  readonly agent: Agent
  readonly sessionId: string
  readonly messages: Page<Message>
}

/** Shows the details of a session, and switches between formatted and raw answers. */
function SessionFacts({ agent, sessionId, messages: { data, nextCursor } }: FactsProps) {
  const { c } = useView()
  const first = data.at(-1)
  const users = new Set(data.map(({ executionPrincipal }) => nameOf(executionPrincipal)))
  const url = new URL(pathOf(c), c.req.url)
  const isRaw = url.searchParams.get('view') === 'raw'
  if (isRaw) url.searchParams.delete('view')
  else url.searchParams.set('view', 'raw')
  return (
    <Card id="facts" title="Details">
      <Facts
        isCard={false}
        facts={{
          Agent: (
            <>
              {agent.name} <span class="muted">({agent.state.kind})</span>
            </>
          ),
          Session: (
            <span class="id">
              <span class="clipped">{sessionId}</span>{' '}
              <CopyButton text={sessionId} what="session ID" />
            </span>
          ),
          'Acts for': (
            <>
              <bdi>{[...users].slice(0, 5).join(', ')}</bdi>
              {users.size > 5 && ` and ${users.size - 5} more`}
            </>
          ),
          Messages: nextCursor === null ? data.length : `${data.length} on this page`,
          [nextCursor === null ? 'Started' : 'Shown from']: first && (
            <FullTime at={first.createdAt} />
          ),
          Answers: (
            <a id="view" href={url.pathname + url.search}>
              {isRaw ? 'Show them formatted' : 'Show the raw text'}
            </a>
          ),
        }}
      />
    </Card>
  )
}

type TurnProps = {
  readonly agent: Agent
  readonly message: Message
  /** The answer so far, if the agent is writing it. */
  readonly partial?: readonly Part[] | undefined
  /** The HTML of texts of answers that is there already. */
  readonly formatted?: ReadonlyMap<string, string> | undefined
}

/**
 * The version of a message on a page. Another version looks different. A second question has the
 * same state and possibly the same attempt as the first one.
 */
export const versionOf = ({ state, attempt, inputs = [] }: Message) =>
  `${state.kind}.${attempt}${inputs.length === 0 ? '' : `.${inputs.length}`}`

/** Shows one message with its answer, principal and metadata. */
export function Turn(turn: TurnProps) {
  const { message } = turn
  const { id, metadata, executionPrincipal, createdAt } = message
  return (
    <article
      class="exchange"
      id={`turn-${id}`}
      data-version={versionOf(message)}
      aria-label={`Message of ${toIso(createdAt)}`}
    >
      <div class="bubble asked">
        <p class="said" dir="auto">
          {shortened(message.message, SHOWN_TEXT)}
        </p>
        <Whole id={id} texts={[message.message]} />
        <p class="facts">
          <span>
            for <bdi>{nameOf(executionPrincipal)}</bdi>
          </span>
          <Time at={createdAt} />
          <Id id={id} href={`${BASE}/messages/${id}`} />
          {can(useView().c, 'deliveries.list') && (
            <a href={`${BASE}/deliveries?message=${id}`}>Deliveries</a>
          )}
        </p>
        {metadata && Object.keys(metadata).length > 0 && (
          <details>
            <summary>Metadata</summary>
            <pre tabindex={0}>{JSON.stringify(metadata, null, 2)}</pre>
          </details>
        )}
      </div>
      <Answer {...turn} />
    </article>
  )
}

function Answer({ agent, message, partial, formatted }: TurnProps) {
  const { state, attempt } = message
  const label = messageLabel(state)
  const parts = partsOf(message) ?? partial
  return (
    <div class={`bubble answered ${label.tone}`}>
      <Questions message={message} />
      {parts && (
        <>
          <AnswerParts
            id={message.id}
            parts={parts}
            most={SHOWN_TEXT}
            last={SHOWN_PARTS}
            formatted={formatted}
          />
          <Whole id={message.id} texts={parts.map(textOf)} />
        </>
      )}
      {state.kind === 'failed' && <ErrorText {...state.error} />}
      <p class="facts">
        <Status {...label} />
        {state.kind === 'responded' && <span>in {formatDuration(state.responseTimeMs)}</span>}
        {attempt > 1 && <span>run {attempt}</span>}
      </p>
      <MessageActions agent={agent} message={message} />
    </div>
  )
}

type WholeProps = { readonly id: string; readonly texts: readonly string[] }

/** Links to the page that shows the whole texts, if the conversation shows only a part of them. */
const Whole = ({ id, texts }: WholeProps) =>
  texts.length <= SHOWN_PARTS && texts.every((text) => text.length <= SHOWN_TEXT) ? null : (
    <p class="facts">
      <a href={`${BASE}/messages/${id}`}>
        Show all {texts.join('').length.toLocaleString('en')} characters of this text
      </a>
    </p>
  )

const textOf = (part: Part) => (part.type === 'text' ? part.text : JSON.stringify(part))

export function MessageActions({
  agent,
  message: { id, state },
}: Pick<TurnProps, 'agent' | 'message'>) {
  const action = isRetryable(state) ? 'retry' : isFinal(state) ? undefined : 'cancel'
  if (action === undefined) return null
  return (
    <Post
      call={`messages.${action}`}
      to={`/messages/${agent.name}/${id}/${action}`}
      id={`${action}-${id}`}
      class="small"
    >
      {action === 'retry' ? 'Retry' : 'Cancel'}
    </Post>
  )
}
