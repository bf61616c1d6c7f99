import type { Instant } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import { useContext, type Child } from 'hono/jsx'
import type { Context } from 'hono'
import { localTime, ZoneContext } from './zone.js'

/** The color of a state. The text of the state says the same. */
export type Tone = 'good' | 'bad' | 'busy' | 'idle'

export const Status = ({ tone, children }: { readonly tone: Tone; readonly children: Child }) => (
  <span class={`status ${tone}`}>{children}</span>
)

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** Returns a time span such as `3 min` or `2 h`. */
export function span(ms: number): string {
  const [unit, length] = UNITS.find(([, least]) => ms >= least) ?? ['s', 1_000]
  return `${Math.floor(ms / length)} ${unit}`
}

export const relative = (at: Instant, now: Instant): string => {
  if (Math.abs(now - at) < 1_000) return 'now'
  return at <= now ? `${span(now - at)} ago` : `in ${span(at - now)}`
}

/** Returns a duration such as `85 ms`, `20.0 s` or `3 min`. */
export const formatDuration = (ms: number): string =>
  ms < 1_000 ? `${ms} ms` : ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms)

/** Returns the time since an instant, such as `for 3 min`. */
export const durationSince = (since: Instant, now: Instant): string =>
  now - since < 1_000 ? 'just now' : `for ${span(now - since)}`

type TimeProps = {
  readonly at: Instant
  readonly now: Instant
  readonly text?: (at: Instant, now: Instant) => string
}

/** Shows an instant relative to now. The title has the time in the viewer's zone and in UTC. */
export function Time({ at, now, text = relative }: TimeProps) {
  const local = localTime(at, useContext(ZoneContext))
  return (
    <time datetime={toIso(at)} title={`${local}, ${toIso(at)}`}>
      {text(at, now)}
    </time>
  )
}

/** Shows the time in the viewer's zone, and how long ago it was. The title has the time in UTC. */
export const FullTime = ({ at, now }: Omit<TimeProps, 'text'>) => (
  <time datetime={toIso(at)} title={toIso(at)}>
    {localTime(at, useContext(ZoneContext))} <span class="muted">({relative(at, now)})</span>
  </time>
)

type IdProps = { readonly id: string; readonly href?: string }

/**
 * Shows the end of an id, which differs most between ids, with a button that copies the whole id.
 */
export const Id = ({ id, href }: IdProps) => (
  <span class="id">
    {href === undefined ? (
      <code title={id}>{shortId(id)}</code>
    ) : (
      <a href={href} title={id}>
        <code>{shortId(id)}</code>
      </a>
    )}
    <CopyButton text={id} what="ID" />
  </span>
)

/** Shows the whole id on its own page, where a reader compares it with another one. */
export const WholeId = ({ id }: Pick<IdProps, 'id'>) => (
  <span class="id">
    <code class="long">{id}</code>
    <CopyButton text={id} what="ID" />
  </span>
)

const shortId = (id: string): string => `…${id.slice(-8)}`

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
export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <pre tabindex={0}>
      <code>{text}</code>
    </pre>
    <CopyButton text={text} what="command" />
  </div>
)

/** Replaces an empty list. Explains the list and the first step. */
export const Empty = ({
  title,
  children,
}: {
  readonly title: string
  readonly children: Child
}) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
)

/** Links to the first and the next page of a list. */
export function Next({
  c,
  cursor,
  label = 'Older',
}: {
  readonly c: Context
  readonly cursor: string | null
  readonly label?: string
}) {
  const url = new URL(c.req.url)
  const isFirst = !url.searchParams.has('cursor')
  url.searchParams.delete('notice')
  url.searchParams.delete('cursor')
  const first = url.pathname + url.search
  if (cursor !== null) url.searchParams.set('cursor', cursor)
  if (cursor === null && isFirst) return null
  return (
    <nav class="pages" aria-label="Pages">
      {isFirst ? null : <a href={first}>Newest</a>}
      {cursor === null ? null : (
        <a href={url.pathname + url.search} rel="next">
          {label}
        </a>
      )}
    </nav>
  )
}

export const Problem = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  )

/** Makes htmx request this page at an interval, and replace the element that has this id. */
export const refreshed = (id: string, everyMs: number, path: string) => ({
  id,
  'hx-get': path,
  'hx-trigger': `every ${everyMs}ms`,
  'hx-select': `#${id}`,
  'hx-target': 'this',
  'hx-swap': 'outerHTML',
})

/** Returns the path and the query of the request, without a notice. */
export const pathOf = (c: Context): string => {
  const url = new URL(c.req.url)
  url.searchParams.delete('notice')
  return url.pathname + url.search
}
