import type { Instant } from '@org/agent-messaging-core'
import { toIso } from '@org/agent-messaging-core/runtime'
import type { Child } from 'hono/jsx'
import type { Context } from 'hono'

/** How a state is coloured; its words say it too. */
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

/** Such as `3 min`, `2 h`. */
export function span(ms: number): string {
  const [unit, length] = UNITS.find(([, least]) => ms >= least) ?? ['s', 1_000]
  return `${Math.floor(ms / length)} ${unit}`
}

export const relative = (at: Instant, now: Instant): string => {
  if (Math.abs(now - at) < 1_000) return 'now'
  return at <= now ? `${span(now - at)} ago` : `in ${span(at - now)}`
}

/** How long something took, such as `85 ms`, `20.0 s`, `3 min`. */
export const took = (ms: number): string =>
  ms < 1_000 ? `${ms} ms` : ms < 60_000 ? `${(ms / 1_000).toFixed(1)} s` : span(ms)

/** How long something has been so. */
export const lasting = (since: Instant, now: Instant): string =>
  now - since < 1_000 ? 'just now' : `for ${span(now - since)}`

type TimeProps = {
  readonly at: Instant
  readonly now: Instant
  readonly words?: (at: Instant, now: Instant) => string
}

/** In words from now; exact on hovering, and for programs. */
export const Time = ({ at, now, words = relative }: TimeProps) => (
  <time datetime={toIso(at)} title={toIso(at)}>
    {words(at, now)}
  </time>
)

/** An id is long: shown by its end, which differs most, with a button that copies all of it. */
export const Id = ({ id, href }: { readonly id: string; readonly href?: string }) => (
  <span class="id">
    {href === undefined ? (
      <code title={id}>{shortId(id)}</code>
    ) : (
      <a href={href} title={id}>
        <code>{shortId(id)}</code>
      </a>
    )}
    <CopyButton text={id} what="the id" />
  </span>
)

const shortId = (id: string): string => `…${id.slice(-8)}`

/** Hidden where there is no script: then there is nothing that could copy. */
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

/** A command to paste. */
export const Command = ({ text }: { readonly text: string }) => (
  <div class="command">
    <pre tabindex={0}>
      <code>{text}</code>
    </pre>
    <CopyButton text={text} what="the command" />
  </div>
)

/** Says what would be here, and what to do so that there is something. */
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

/** To the next page of a list, by its cursor. */
export function Next({
  c,
  cursor,
  words = 'Older',
}: {
  readonly c: Context
  readonly cursor: string | null
  readonly words?: string
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
          {words}
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

/** Asks for this very page every so often, and puts the part with this id in the place of the one that is shown. */
export const refreshed = (id: string, everyMs: number, path: string) => ({
  id,
  'hx-get': path,
  'hx-trigger': `every ${everyMs}ms`,
  'hx-select': `#${id}`,
  'hx-target': 'this',
  'hx-swap': 'outerHTML',
})

export const pathOf = (c: Context): string => {
  const url = new URL(c.req.url)
  url.searchParams.delete('notice')
  return url.pathname + url.search
}
