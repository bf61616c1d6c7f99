import type { AuditEntry, MessagingService } from '@org/agent-messaging-core'
import { ACTOR_KINDS, AUDIT_ACTIONS, changeTexts } from '@org/agent-messaging-core/host'
import type { Child } from 'hono/jsx'
import { z } from 'zod'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { formatCount, FullTime, Id } from '../parts/parts.js'
import { FilterForm } from '../parts/fields.js'
import { optional, optionalText } from '../parts/filter.js'
import { idIn, pageOf, projectIn } from '../parts/input.js'
import { need } from '../parts/layout.js'
import { type Columns, Empty, listPage } from '../parts/table.js'
import { projectNameOf } from './session.js'

export const auditLogRoutes = (d: ConsoleDeps) =>
  newRoutes().get('/audit-log', need('auditLog.list'), (c) =>
    auditLogPage(c, d, {
      projectId: projectIn(c),
      path: `${BASE}/audit-log`,
      canOpen: true,
    }),
  )

const filterSchema = z.object({
  action: optional(z.enum(AUDIT_ACTIONS)),
  actor: optional(z.enum(ACTOR_KINDS)),
  target: optionalText,
})
/** The project whose log a page shows. Without a project, the page shows the log of all. */
type LogOf = {
  readonly projectId?: string
  readonly path: string
  /** True if the session can open the pages of the changed webhooks and recoveries. */
  readonly canOpen: boolean
}

export async function auditLogPage(
  c: PageRequest,
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
  const page = await service.auditLog.list({ ...filter, ...pageOf(c) })
  const names = projectId === undefined ? await namesOf(service, page.data) : undefined
  return listPage(c, {
    title: projectId === undefined ? 'Audit log of all projects' : 'Audit log',
    label: 'Audit log',
    before: (
      <FilterForm
        path={path}
        fields={{
          action: { label: 'Change', any: 'any', choices: AUDIT_ACTIONS },
          actor: { label: 'By', any: 'any', choices: ACTOR_KINDS },
          target: { label: 'ID of the change’s target', autocomplete: 'off' },
        }}
        values={{ action, actor, target }}
      />
    ),
    page,
    columns: columnsFor(canOpen, names),
    empty: (
      <Empty title="No changes">
        <p>The log has no entry that matches. It keeps entries as long as deliveries.</p>
      </Empty>
    ),
  })
}

/** Returns the names of the entries' projects, by id. */
async function namesOf(service: MessagingService, entries: readonly AuditEntry[]) {
  const ids = [...new Set(entries.map(({ projectId }) => projectId))]
  const named = ids.map(async (id) => [id, await projectNameOf({ service }, id)] as const)
  return new Map(await Promise.all(named))
}

/** `projects` has the names of projects, in the log of all projects. */
const columnsFor = (
  canOpen: boolean,
  projects: ReadonlyMap<string, string> | undefined,
): Columns<AuditEntry> => ({
  Change: ({ action, count }) =>
    count === undefined ? action : `${action} (${formatCount(count)})`,
  Project: projects !== undefined && {
    class: 'any',
    cell: ({ projectId }) =>
      projectId === idIn() ? (
        'all'
      ) : (
        <a href={`${BASE}/projects/${projectId}/audit-log`}>
          <bdi>{projects.get(projectId)}</bdi>
        </a>
      ),
  },
  What: {
    class: 'any',
    cell: ({ action, targetId, targetName }) => (
      <Named name={targetName}>
        <Id id={targetId} {...(canOpen && linkTo(action, targetId))} />
      </Named>
    ),
  },
  Fields: {
    class: 'any',
    cell: (entry) => changeTexts(entry).map((text) => <div dir="auto">{text}</div>),
  },
  By: {
    class: 'any',
    cell: ({ actor }) => (
      <>
        {ACTORS[actor.kind]}{' '}
        {actor.id !== undefined && (
          <Named name={actor.name}>
            <Id id={actor.id} />
          </Named>
        )}
      </>
    ),
  },
  When: ({ createdAt }) => <FullTime at={createdAt} />,
})

type NamedProps = { readonly name: string | undefined; readonly children: Child }

/** Shows a name above an id. */
const Named = ({ name, children }: NamedProps) => (
  <>
    {name !== undefined && (
      <div>
        <bdi>{name}</bdi>
      </div>
    )}
    {children}
  </>
)

const ACTORS: Readonly<Record<AuditEntry['actor']['kind'], string>> = {
  key: 'API key',
  platform: 'platform key',
  user: 'user of the host',
  operator: 'operator',
  console: 'console, with the API key',
  portal: 'portal',
  link: 'one-time link',
  cli: 'command line',
  host: 'the program that embeds the service',
}

/** The pages of the changed things that have one. */
const PAGES = { webhook: 'webhooks', recovery: 'recoveries', delivery: 'deliveries' }

function linkTo(action: string, id: string) {
  const [subject = '', change] = action.split('.')
  const page = change === 'deleted' ? undefined : new Map(Object.entries(PAGES)).get(subject)
  return page && { href: `${BASE}/${page}/${id}` }
}
