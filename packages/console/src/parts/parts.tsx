import { BASE } from '../context.js'
import type { Instant, MessagingService } from '@org/agent-messaging-core'
import type { CallName } from '@org/agent-messaging-core/host'
import { isUuid } from '@org/agent-messaging-core/runtime'
import { toIso, type DeliveryFilter } from '@org/agent-messaging-core/storage'
import type { Child } from 'hono/jsx'
import { can } from './input.js'
import { localTime, useView } from './zone.js'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

/** The color of a state. The text of the state says the same. */
export type Tone = 'good' | 'bad' | 'busy' | 'idle'

export type Label = { readonly tone: Tone; readonly text: string }

export const Status = ({ tone, text }: Label) => <span class={`status ${tone}`}>{text}</span>

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** Returns a time span such as `3 min` or `2 h`. */
export function span(ms: number) {
  const [unit, length] = UNITS.find(([, least]) => ms >= least) ?? ['s', 1_000]
  return `${Math.floor(ms / length)} ${unit}`
}

export const relative = (at: Instant, now: Instant) => {
  if (Math.abs(now - at) < 1_000) return 'now'
  return at <= now ? `${span(now - at)} ago` : `in ${span(at - now)}`
}

/** Returns a duration such as `85 ms`, `20.0 s` or `3 min`. */
export const formatDuration = (ms: number) =>
  ms < 1_000 ? `${ms} ms` : ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms)

/** Returns the time since an instant, such as `for 3 min`. */
export const durationSince = (since: Instant, now: Instant) =>
  now - since < 1_000 ? 'just now' : `for ${span(now - since)}`

type TimeProps = {
  readonly at: Instant
  readonly text?: (at: Instant, now: Instant) => string
}

/** Shows an instant relative to now. The title has the time in the viewer's zone and in UTC. */
export function Time({ at, text = relative }: TimeProps) {
  const { now, zone } = useView()
  return (
    <time datetime={toIso(at)} title={`${localTime(at, zone)}, ${toIso(at)}`}>
      {text(at, now)}
    </time>
  )
}

/** Shows the time in the viewer's zone, and how long ago it was. The title has the time in UTC. */
export function FullTime({ at }: Pick<TimeProps, 'at'>) {
  const { now, zone } = useView()
  return (
    <time datetime={toIso(at)} title={toIso(at)}>
      {localTime(at, zone)} <span class="muted">({relative(at, now)})</span>
    </time>
  )
}

type IdProps = { readonly id: string; readonly href?: string }

/**
 * Shows the end of an id, which differs most between ids, with a button that copies the whole id.
 */
export const Id = ({ id, href }: IdProps) => {
  const shown = (
    <data value={id}>
      <code title={id}>{shortId(id)}</code>
    </data>
  )
  return (
    <span class="id">
      {href === undefined ? shown : <a href={href}>{shown}</a>}
      <CopyButton text={id} what="ID" />
    </span>
  )
}

/** Shows the whole id on its own page, where a reader compares it with another one. */
export const WholeId = ({ id, href }: IdProps) => (
  <span class="id">
    {href === undefined ? (
      <code class="long">{id}</code>
    ) : (
      <a href={href}>
        <code class="long">{id}</code>
      </a>
    )}
    <CopyButton text={id} what="ID" />
  </span>
)

/** A name in place of an id is whole. */
const shortId = (id: string) => (isUuid(id) ? `…${id.slice(-8)}` : id)

/** Hidden until the script runs, because copying needs it. */
export const CopyButton = ({ text, what }: { readonly text: string; readonly what: string }) => (
  <button
    type="button"
    class="copy"
    data-copy={text}
    hidden
    aria-label={`Copy ${what}`}
    title={`Copy ${what}`}
  >
    <svg viewBox="0 0 16 16" width="13" height="13" aria-hidden="true">
      <rect x="5.5" y="5.5" width="8" height="8" rx="1.5" />
      <path d="M10.5 3.5v-.5A1.5 1.5 0 0 0 9 1.5H3A1.5 1.5 0 0 0 1.5 3v6A1.5 1.5 0 0 0 3 10.5h.5" />
    </svg>
  </button>
)

/** Shows a command for the shell. */
const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <pre tabindex={0}>
      <code>{text}</code>
    </pre>
    <CopyButton text={text} what="command" />
  </div>
)

type CurlProps = { readonly path: string; readonly body: object }

/** Shows how to send a request to the API. */
export const CurlCommand = ({ path, body }: CurlProps) => (
  <Command
    text={`curl ${new URL(useView().c.req.url).origin}/v1/${path} \\\n  -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body)}'`}
  />
)

/** On a phone, opens the part of the page that has this id and the class `fold`. */
export const Unfold = ({ id, children }: { readonly id: string; readonly children: Child }) => (
  <button type="button" class="unfold" popovertarget={id}>
    {children}
  </button>
)

export const Problem = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  )

type CardProps = {
  /** The id of the heading. */
  readonly id: string
  readonly title: Child
  readonly class?: string
  readonly children: Child
}

/** A part of a page, below its heading. */
export const Card = ({ id, title, class: look = 'card', children }: CardProps) => (
  <section class={look} aria-labelledby={id}>
    <h2 id={id}>{title}</h2>
    {children}
  </section>
)

type TabsProps = {
  readonly label: string
  readonly tabs: readonly (readonly [text: Child, href: string, isShown: boolean])[]
  /** Says what the shown tab is. */
  readonly current?: 'page' | 'true'
}

/** Switches between views. */
export const Tabs = ({ label, tabs, current = 'true' }: TabsProps) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(([text, href, isShown]) => (
      <a href={href} aria-current={isShown ? current : undefined}>
        {text}
      </a>
    ))}
  </nav>
)

type FactsProps = {
  /** Details by their names. A missing or false one is left out. */
  readonly facts: Readonly<Record<string, Child>>
  readonly isCard?: boolean
}

export const Facts = ({ facts, isCard = true }: FactsProps) => (
  <dl class={isCard ? 'facts-list card' : 'facts-list'}>
    {Object.entries(facts).map(
      ([name, fact]) =>
        fact !== undefined &&
        fact !== false && (
          <>
            <dt>{name}</dt>
            <dd>{fact}</dd>
          </>
        ),
    )}
  </dl>
)

type PostProps = {
  /** Sessions that cannot make this call do not see the button. */
  readonly call: CallName
  /** The path of the action below the console's. */
  readonly to: string
  readonly children: Child
  readonly class?: string | undefined
  readonly id?: string
  readonly 'aria-label'?: string
}

/** A button that asks for an action. */
export const Post = ({ call, to, children, ...button }: PostProps) =>
  can(useView().c, call) ? (
    <form method="post" action={BASE + to}>
      <button {...button}>{children}</button>
    </form>
  ) : null

const COUNT_PAGE = 1_000
const MAX_COUNT_PAGES = 10

/** `isAll` is false if more rows match than were counted. */
export type Count = { readonly count: number; readonly isAll: boolean }

/** Counts up to 10,000 deliveries, 1,000 at a time. Between two pages, other requests can run. */
export async function countMatching(service: MessagingService, filter: DeliveryFilter) {
  let count = 0
  let cursor: string | undefined
  for (let pages = 0; pages < MAX_COUNT_PAGES; pages++) {
    const page = { limit: COUNT_PAGE, cursor }
    const { data, nextCursor } = await service.deliveries.list({ ...filter, ...page })
    count += data.length
    if (nextCursor === null) return { count, isAll: true }
    cursor = nextCursor
    await yieldToEventLoop()
  }
  return { count, isAll: false }
}

export const formatCount = (count: number) => count.toLocaleString('en')

/** Returns a count with its unit, such as `1 delivery` or `more than 10,000 deliveries`. */
export const countText = ({ count, isAll }: Count, one: string, many: string) =>
  `${isAll ? '' : 'more than '}${formatCount(count)} ${count === 1 ? one : many}`
