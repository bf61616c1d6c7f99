import {
  MessagingError,
  PERMISSIONS,
  type Actor,
  type ApiKey,
  type Instant,
  type Permission,
} from '@org/agent-messaging-core'
import { errorIn, ROLE_NAMES, roleOf, ROLES, type Role } from '@org/agent-messaging-core/host'
import { askPage } from '../confirm.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { type Field, PostForm, Hidden } from '../parts/fields.js'
import { can, idIn, pageOf, projectIn, textIn } from '../parts/input.js'
import { secretPage, showError, need } from '../parts/layout.js'
import { Id, Status, Time } from '../parts/parts.js'
import { problemText } from '../parts/texts.js'
import { type Columns, Empty, listPage } from '../parts/table.js'

export const keyRoutes = (d: ConsoleDeps) => {
  const own = (c: PageRequest): KeysOf => ({
    projectId: projectIn(c),
    path: `${BASE}/keys`,
    actor: c.get('actor'),
    usedKeyId: c.get('apiKey').id,
    isReadOnly: !can(c, 'keys.create'),
  })
  return newRoutes()
    .get('/keys', need('keys.list'), (c) => keysPage(c, d, own(c)))
    .post('/keys', need('keys.create'), (c) => createKey(c, d, own(c)))
    .get('/keys/:key/revoke', need('keys.revoke'), (c) => revokePage(c, d, own(c)))
    .post('/keys/:key/revoke', need('keys.revoke'), (c) => revokeKey(c, d, own(c)))
}

/** The project whose keys a page shows, and the address of that page. */
export type KeysOf = {
  readonly projectId: string
  readonly path: string
  readonly actor: Actor
  /** The key of this session. */
  readonly usedKeyId?: string
  readonly isReadOnly?: boolean
}
type Draft = {
  readonly name: string
  /** Empty for a key with `permissions`. */
  readonly role: string
  readonly permissions: readonly string[]
  /** Days, or empty for a key that does not expire. */
  readonly days: string
}

const NEW_KEY: Draft = { name: '', role: '', permissions: [], days: '' }
const LIFETIMES = ['7', '30', '90', '365']
const DAY_MS = 86_400_000

const HINTS: Readonly<Record<Permission, string>> = {
  'project:read': 'see everything, and change nothing',
  'project:message': 'send and read messages',
  'project:agents': 'manage agents',
  'project:webhooks': 'manage webhooks and deliveries',
  'project:events': 'read the event log',
  'project:publish': 'publish events',
  'project:portals': 'make portal links',
  'project:types': 'define event types',
  'project:audit': 'read the audit log',
  'project:erase': 'erase sessions and people',
  'project:admin': 'manage API keys',
}

export const keysPage = async (
  c: PageRequest,
  { service }: ConsoleDeps,
  of: KeysOf,
  draft = NEW_KEY,
  problem?: string,
) =>
  listPage(c, {
    title: 'API keys',
    problem,
    page: await service.keys.list({ projectId: of.projectId, ...pageOf(c) }),
    columns: columnsFor(of, service.host.now()),
    empty: (
      <Empty title="No API keys yet">
        <p>Create one for each program that calls the API.</p>
      </Empty>
    ),
    after: !of.isReadOnly && (
      <PostForm
        action={of.path}
        class="narrow card stack"
        intro={<h2>Create an API key</h2>}
        problem={problem}
        fields={FIELDS}
        values={draft}
        button="Create key"
      />
    ),
  })

export async function createKey(c: PageRequest, d: ConsoleDeps, of: KeysOf) {
  const form = await c.req.parseBody({ all: true })
  const draft = {
    name: textIn(form, 'name').trim(),
    role: textIn(form, 'role'),
    permissions: [form['permissions'] ?? []].flat().map(String),
    days: textIn(form, 'days'),
  }
  const creating = d.service.keys.create({
    projectId: of.projectId,
    actor: of.actor,
    name: draft.name,
    ...(draft.role !== '' && { role: draft.role as Role }),
    ...((draft.role === '' || draft.permissions.length > 0) && {
      permissions: draft.permissions as Permission[],
    }),
    expiresAt: LIFETIMES.includes(draft.days)
      ? d.service.host.now() + Number(draft.days) * DAY_MS
      : undefined,
  })
  const created = await creating.catch(errorIn)
  if (!('kind' in created)) return createdPage(c, of, created.apiKey, created.key)
  return created.kind === 'project_not_found'
    ? showError(c, created)
    : keysPage(c, d, of, draft, problemText(created))
}

const createdPage = (c: PageRequest, of: KeysOf, { name }: ApiKey, key: string) =>
  secretPage(
    c,
    { title: 'API key created', path: of.path, secret: key, what: 'API key' },
    <p>
      This is the key of <bdi>{name}</bdi>. Copy it now. The key is shown <strong>only once</strong>
      .
    </p>,
    <form method="post" action={`${BASE}/sign-in`} class="buttons">
      <Hidden values={{ key, add: 'yes' }} />
      <a class="button" href={of.path}>
        Done
      </a>
      <button class="quiet">Use this key in the console</button>
    </form>,
  )

/** Finds a key among the pages of keys. A project has at most 1,000 valid ones. */
async function findKey({ service }: ConsoleDeps, projectId: string, id: string) {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = { limit: 100, cursor }
    const { data, nextCursor } = await service.keys.list({ projectId, ...page })
    const found = data.find((key) => key.id === id)
    if (found) return found
    cursor = nextCursor
  }
  throw new MessagingError({ kind: 'key_not_found' })
}

export async function revokePage(c: PageRequest, d: ConsoleDeps, of: KeysOf) {
  const { id, name } = await findKey(d, of.projectId, idIn(c.req.param('key')))
  return askPage(
    c,
    {
      title: 'Revoke API key',
      question: 'Revoke this API key?',
      path: `${of.path}/${id}/revoke`,
      button: 'Revoke key',
      back: of.path,
    },
    <>
      <p>
        <strong>
          <bdi>{name}</bdi>
        </strong>{' '}
        <code>{id}</code>
      </p>
      <ul class="consequences">
        <li>Programs with this key are refused from the next request on. You cannot undo this.</li>
        <li>Console sessions with this key end.</li>
        <li>Accepted messages and their deliveries go on.</li>
        {id === of.usedKeyId && (
          <li>
            <strong>You are signed in with this key.</strong> Your session ends.
          </li>
        )}
      </ul>
    </>,
  )
}

export async function revokeKey(c: PageRequest, { service }: ConsoleDeps, of: KeysOf) {
  await service.keys.revoke({ ...of, keyId: idIn(c.req.param('key')) })
  return c.redirect(`${of.path}?notice=keyRevoked`, 303)
}

const columnsFor = (of: KeysOf, now: Instant): Columns<ApiKey> => ({
  Name: {
    class: 'any',
    cell: ({ id, name }) => (
      <>
        <bdi>{name}</bdi> {id === of.usedKeyId && <span class="muted">(this session)</span>}
        <div>
          <Id id={id} />
        </div>
      </>
    ),
  },
  State: (apiKey) => {
    const state = stateOf(apiKey, now)
    return (
      <>
        <Status tone={state === 'valid' ? 'good' : 'idle'} text={state} />
        {state === 'valid' && apiKey.expiresAt !== undefined && (
          <div class="small muted">
            expires <Time at={apiKey.expiresAt} />
          </div>
        )}
      </>
    )
  },
  Permissions: ({ permissions }) => roleOf(permissions) ?? permissions.join(', '),
  Created: { at: ({ createdAt }) => createdAt },
  Actions: {
    class: 'actions',
    cell: (apiKey) =>
      !of.isReadOnly &&
      stateOf(apiKey, now) === 'valid' && (
        <a
          class="button quiet"
          href={`${of.path}/${apiKey.id}/revoke`}
          aria-label={`Revoke ${apiKey.name}`}
        >
          Revoke
        </a>
      ),
  },
})

const stateOf = ({ expiresAt, revokedAt }: ApiKey, now: Instant) => {
  if (revokedAt !== undefined) return 'revoked'
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'valid'
}

const shortOf = (permission: Permission) => permission.replace('project:', '')

const FIELDS = {
  name: { label: 'Name', required: true, maxlength: 100, autocomplete: 'off' },
  role: {
    label: 'Role',
    any: 'the permissions below',
    choices: ROLE_NAMES.map((role) => [role, `${role}: ${ROLES[role].map(shortOf).join(', ')}`]),
  },
  permissions: {
    label: 'Permissions',
    set: PERMISSIONS.map((permission) => [
      permission,
      <>
        <code>{permission}</code> {HINTS[permission]}
      </>,
    ]),
  },
  days: {
    label: 'Expires',
    any: 'never',
    choices: LIFETIMES.map((days) => [days, `in ${days} days`]),
  },
} satisfies Record<string, Field>
