import {
  PERMISSIONS,
  type ApiKey,
  type Instant,
  type Actor,
  type Page,
  type PageOf,
  type Permission,
} from '@org/agent-messaging-core'
import type { Context } from 'hono'
import { Hono } from 'hono'
import { err, ok } from 'neverthrow'
import { Choice } from '../confirm.js'
import type { ConsoleDeps, Env } from '../context.js'
import { idIn, pageOf, textIn } from '../parts/input.js'
import { show, showError } from '../parts/layout.js'
import { BASE } from '../options.js'
import { CopyButton, Empty, Id, Next, Problem, Status, Time } from '../parts/parts.js'
import { problemText } from '../parts/problem.js'
import { need } from './sign-in.js'

export const keyRoutes = (d: ConsoleDeps) => {
  const mayManage = need('project:admin')
  const own = (c: Context<Env>): KeysOf => ({
    projectId: c.get('apiKey').projectId,
    path: `${BASE}/keys`,
    actor: c.get('actor'),
    usedKeyId: c.get('apiKey').id,
  })
  return new Hono<Env>()
    .get(`${BASE}/keys`, mayManage, (c) => keysPage(c, d, own(c)))
    .post(`${BASE}/keys`, mayManage, (c) => createKey(c, d, own(c)))
    .get(`${BASE}/keys/:key/revoke`, mayManage, (c) => revokePage(c, d, own(c)))
    .post(`${BASE}/keys/:key/revoke`, mayManage, (c) => revokeKey(c, d, own(c)))
}

/** The project whose keys a page shows, and the address of that page. */
export type KeysOf = {
  readonly projectId: string
  readonly path: string
  readonly actor: Actor
  /** The key of this session. */
  readonly usedKeyId?: string
}
type Draft = {
  readonly name: string
  readonly permissions: readonly string[]
  /** Days, or empty for a key that does not expire. */
  readonly days: string
}

const NEW_KEY: Draft = { name: '', permissions: [], days: '' }
const LIFETIMES = ['7', '30', '90', '365']
const DAY_MS = 86_400_000

const HINTS: Readonly<Record<Permission, string>> = {
  'project:message': 'send and read messages',
  'project:agents': 'manage agents',
  'project:webhooks': 'manage webhooks and deliveries',
  'project:events': 'read the event log',
  'project:audit': 'read the audit log',
  'project:admin': 'manage API keys',
}

export async function keysPage(
  c: Context<Env>,
  { service }: ConsoleDeps,
  of: KeysOf,
  draft = NEW_KEY,
  problem?: string,
) {
  const found = await service.keys.list(of.projectId, pageOf(c))
  if (found.isErr()) return showError(c, found.error)
  return show(
    c,
    { title: 'API keys', ...(problem !== undefined && { status: 400 }) },
    <>
      <h1>API keys</h1>
      <KeyTable page={found.value} of={of} now={service.now()} />
      <Next c={c} cursor={found.value.nextCursor} />
      <KeyForm path={of.path} draft={draft} problem={problem} />
    </>,
  )
}

export async function createKey(c: Context<Env>, d: ConsoleDeps, of: KeysOf) {
  const form = await c.req.parseBody({ all: true })
  const draft = {
    name: textIn(form, 'name').trim(),
    permissions: [form['permissions'] ?? []].flat().map(String),
    days: textIn(form, 'days'),
  }
  const created = await d.service.keys.create({
    projectId: of.projectId,
    actor: of.actor,
    name: draft.name,
    permissions: draft.permissions as Permission[],
    expiresAt: LIFETIMES.includes(draft.days)
      ? d.service.now() + Number(draft.days) * DAY_MS
      : undefined,
  })
  if (created.isOk()) return createdPage(c, of, created.value.apiKey, created.value.key)
  return created.error.kind === 'project_not_found'
    ? showError(c, created.error)
    : keysPage(c, d, of, draft, problemText(created.error))
}

const createdPage = (c: Context<Env>, of: KeysOf, { name }: ApiKey, key: string) =>
  show(
    c,
    { title: 'API key created' },
    <div class="narrow card" data-address={of.path}>
      <h1>API key created</h1>
      <p>
        This is the key of <bdi>{name}</bdi>. Copy it now. The key is shown{' '}
        <strong>only once</strong>.
      </p>
      <p class="secret">
        <code id="secret">{key}</code>
        <CopyButton text={key} what="API key" />
      </p>
      <form method="post" action={`${BASE}/sign-in`} class="buttons">
        <input type="hidden" name="key" value={key} />
        <input type="hidden" name="add" value="yes" />
        <a class="button" href={of.path}>
          Done
        </a>
        <button class="quiet">Use this key in the console</button>
      </form>
    </div>,
  )

/** Finds a key among the pages of keys. A project has at most 1,000 valid ones. */
async function findKey({ service }: ConsoleDeps, projectId: string, id: string) {
  for (let at: PageOf = { limit: 100 }; ;) {
    const page = await service.keys.list(projectId, at)
    if (page.isErr()) return err(page.error)
    const { data, nextCursor } = page.value
    const found = data.find((key) => key.id === id)
    if (found) return ok(found)
    if (nextCursor === null) return err({ kind: 'key_not_found' as const })
    at = { limit: 100, cursor: nextCursor }
  }
}

export async function revokePage(c: Context<Env>, d: ConsoleDeps, of: KeysOf) {
  const found = await findKey(d, of.projectId, idIn(c.req.param('key')))
  if (found.isErr()) return showError(c, found.error)
  const { id, name } = found.value
  return show(
    c,
    { title: 'Revoke API key' },
    <form method="post" action={`${of.path}/${id}/revoke`} class="narrow card stack">
      <h1>Revoke this API key?</h1>
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
      <Choice action="Revoke key" back={of.path} />
    </form>,
  )
}

export async function revokeKey(c: Context<Env>, d: ConsoleDeps, of: KeysOf) {
  const done = await d.service.keys.revoke({ ...of, keyId: idIn(c.req.param('key')) })
  return done.isErr() ? showError(c, done.error) : c.redirect(`${of.path}?notice=keyRevoked`, 303)
}

type TableProps = { readonly page: Page<ApiKey>; readonly of: KeysOf; readonly now: Instant }

const KeyTable = ({ page: { data }, of, now }: TableProps) =>
  data.length === 0 ? (
    <Empty title="No API keys yet">
      <p>Create one for each program that calls the API.</p>
    </Empty>
  ) : (
    <div class="scroll card flush" role="region" aria-label="API keys" tabindex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">State</th>
            <th scope="col">Permissions</th>
            <th scope="col">Created</th>
            <th scope="col">
              <span class="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {data.map((apiKey) => (
            <KeyRow apiKey={apiKey} of={of} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  )

function KeyRow({
  apiKey: { id, name, permissions, createdAt, expiresAt, revokedAt },
  of,
  now,
}: Pick<TableProps, 'of' | 'now'> & { readonly apiKey: ApiKey }) {
  const isExpired = expiresAt !== undefined && expiresAt <= now
  const state = revokedAt !== undefined ? 'revoked' : isExpired ? 'expired' : 'valid'
  return (
    <tr>
      <th scope="row" class="any">
        <bdi>{name}</bdi> {id === of.usedKeyId && <span class="muted">(this session)</span>}
        <div>
          <Id id={id} />
        </div>
      </th>
      <td data-label="State">
        <Status tone={state === 'valid' ? 'good' : 'idle'}>{state}</Status>
        {state === 'valid' && expiresAt !== undefined && (
          <div class="small muted">
            expires <Time at={expiresAt} now={now} />
          </div>
        )}
      </td>
      <td data-label="Permissions">{permissions.join(', ')}</td>
      <td data-label="Created">
        <Time at={createdAt} now={now} />
      </td>
      <td class="actions">
        {state === 'valid' && (
          <a class="button quiet" href={`${of.path}/${id}/revoke`} aria-label={`Revoke ${name}`}>
            Revoke
          </a>
        )}
      </td>
    </tr>
  )
}

type FormProps = {
  readonly path: string
  readonly draft: Draft
  readonly problem: string | undefined
}

const KeyForm = ({ path, draft, problem }: FormProps) => (
  <form method="post" action={path} class="narrow card stack">
    <h2>Create an API key</h2>
    <Problem text={problem} />
    <div>
      <label for="name">Name</label>
      <input id="name" name="name" required maxlength={100} value={draft.name} autocomplete="off" />
    </div>
    <fieldset>
      <legend>Permissions</legend>
      {PERMISSIONS.map((permission) => (
        <label class="check">
          <input
            type="checkbox"
            name="permissions"
            value={permission}
            checked={draft.permissions.includes(permission)}
          />
          <code>{permission}</code> {HINTS[permission]}
        </label>
      ))}
    </fieldset>
    <div>
      <label for="days">Expires</label>
      <select id="days" name="days">
        <option value="">never</option>
        {LIFETIMES.map((days) => (
          <option value={days} selected={days === draft.days}>
            in {days} days
          </option>
        ))}
      </select>
    </div>
    <p class="buttons">
      <button class="primary">Create key</button>
    </p>
  </form>
)
