import {
  ACTOR_KINDS,
  AUDIT_ACTIONS,
  type AuditEntry,
  type Instant,
} from '@org/agent-messaging-core'
import { isStorableText } from '@org/agent-messaging-core/runtime'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { z } from 'zod'
import type { ConsoleDeps, Env } from '../context.js'
import { formatCount } from '../parts/count.js'
import { optional } from '../parts/filter.js'
import { pageOf } from '../parts/input.js'
import { show, showError } from '../parts/layout.js'
import { BASE } from '../options.js'
import { Empty, FullTime, Id, Next } from '../parts/parts.js'
import { need } from './sign-in.js'

export const auditLogRoutes = (d: ConsoleDeps) =>
  new Hono<Env>().get(`${BASE}/audit-log`, need('project:audit'), (c) =>
    auditLogPage(c, d, {
      projectId: c.get('apiKey').projectId,
      path: `${BASE}/audit-log`,
      canOpen: true,
    }),
  )

const filterSchema = z.object({
  action: optional(z.enum(AUDIT_ACTIONS)),
  actor: optional(z.enum(ACTOR_KINDS)),
  target: optional(
    z
      .string()
      .trim()
      .refine((text) => text !== '' && isStorableText(text)),
  ),
})
type Filter = z.output<typeof filterSchema>

/** The project whose log a page shows. Without a project, the page shows the log of all. */
type LogOf = {
  readonly projectId?: string
  readonly path: string
  /** True if the session can open the pages of the changed webhooks and recoveries. */
  readonly canOpen: boolean
}

export async function auditLogPage(
  c: Context<Env>,
  { service }: ConsoleDeps,
  { projectId, path, canOpen }: LogOf,
) {
  const { action, actor, target } = filterSchema.parse(c.req.query())
  const filter = {
    ...(projectId !== undefined && { projectId }),
    ...(action && { action }),
    ...(actor && { actorKind: actor }),
    ...(target !== undefined && { targetId: target }),
  }
  const found = await service.auditLog.list(filter, pageOf(c))
  if (found.isErr()) return showError(c, found.error)
  const { data, nextCursor } = found.value
  return show(
    c,
    { title: projectId === undefined ? 'Audit log of all projects' : 'Audit log' },
    <>
      <h1>{projectId === undefined ? 'Audit log of all projects' : 'Audit log'}</h1>
      <Filters filter={{ action, actor, target }} path={path} />
      {data.length === 0 ? (
        <Empty title="No changes">
          <p>The log has no entry that matches. It keeps entries as long as deliveries.</p>
        </Empty>
      ) : (
        <Entries
          entries={data}
          now={service.now()}
          canOpen={canOpen}
          projects={projectId === undefined ? await namesOf(service, data) : undefined}
        />
      )}
      <Next c={c} cursor={nextCursor} />
    </>,
  )
}

function Filters({ filter, path }: { readonly filter: Filter; readonly path: string }) {
  const choice = (name: 'action' | 'actor', label: string, values: readonly string[]) => (
    <div>
      <label for={name}>{label}</label>
      <select id={name} name={name}>
        <option value="">any</option>
        {values.map((value) => (
          <option value={value} selected={filter[name] === value}>
            {value}
          </option>
        ))}
      </select>
    </div>
  )
  return (
    <form method="get" action={path} class="filters card">
      {choice('action', 'Change', AUDIT_ACTIONS)}
      {choice('actor', 'By', ACTOR_KINDS)}
      <div>
        <label for="target">ID of the change’s target</label>
        <input id="target" name="target" value={filter.target ?? ''} autocomplete="off" />
      </div>
      <p class="buttons">
        <button class="primary">Filter</button>
        <a href={path}>Clear</a>
      </p>
    </form>
  )
}

/** Returns the names of the entries' projects, by id. */
async function namesOf({ projects }: ConsoleDeps['service'], entries: readonly AuditEntry[]) {
  const ids = [...new Set(entries.map(({ projectId }) => projectId))]
  const named = ids.map(async (id) => {
    const found = await projects.get(id)
    return [id, found.map(({ name }) => name).unwrapOr(id)] as const
  })
  return new Map(await Promise.all(named))
}

type EntriesProps = {
  readonly entries: readonly AuditEntry[]
  readonly now: Instant
  readonly canOpen: boolean
  /** The names of projects, in the log of all projects. */
  readonly projects: ReadonlyMap<string, string> | undefined
}

const Entries = ({ entries, now, canOpen, projects }: EntriesProps) => (
  <div class="scroll card flush" role="region" aria-label="Audit log" tabindex={0}>
    <table>
      <thead>
        <tr>
          <th scope="col">Change</th>
          {projects && <th scope="col">Project</th>}
          <th scope="col">What</th>
          <th scope="col">Fields</th>
          <th scope="col">By</th>
          <th scope="col">When</th>
        </tr>
      </thead>
      <tbody>
        {entries.map(({ projectId, action, targetId, count, fields = [], actor, createdAt }) => (
          <tr>
            <th scope="row">
              {action}
              {count !== undefined && ` (${formatCount(count)})`}
            </th>
            {projects && (
              <td data-label="Project" class="any">
                <a href={`${BASE}/projects/${projectId}/audit-log`}>
                  <bdi>{projects.get(projectId)}</bdi>
                </a>
              </td>
            )}
            <td data-label="What">
              <Id id={targetId} {...(canOpen && linkTo(action, targetId))} />
            </td>
            <td class="any" {...(fields.length > 0 && { 'data-label': 'Fields' })}>
              {fields.join(', ')}
            </td>
            <td data-label="By">
              {ACTORS[actor.kind]} {actor.id !== undefined && <Id id={actor.id} />}
            </td>
            <td data-label="When">
              <FullTime at={createdAt} now={now} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const ACTORS: Readonly<Record<AuditEntry['actor']['kind'], string>> = {
  key: 'API key',
  operator: 'operator',
  console: 'console, with the API key',
  portal: 'portal',
  link: 'one-time link',
  cli: 'command line',
  host: 'the program that embeds the service',
}

const PAGES: Readonly<Record<string, string>> = {
  'webhook.created': 'webhooks',
  'webhook.updated': 'webhooks',
  'webhook.secret_rotated': 'webhooks',
  'webhook.rotation_finished': 'webhooks',
  'recovery.started': 'recoveries',
  'recovery.cancelled': 'recoveries',
  'delivery.cancelled': 'deliveries',
  'delivery.redelivered': 'deliveries',
}

const linkTo = (action: string, id: string): { href?: string } =>
  action in PAGES ? { href: `${BASE}/${PAGES[action]}/${id}` } : {}
