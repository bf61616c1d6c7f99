import type { ApiKey } from '@org/agent-messaging-core'
import { errorIn, type ProjectOverview } from '@org/agent-messaging-core/host'
import { auditLogPage } from './audit-log.js'
import { type ConsoleDeps, newRoutes, type PageRequest, BASE } from '../context.js'
import { can, idIn, pageOf, textIn } from '../parts/input.js'
import { createKey, type KeysOf, keysPage, revokeKey, revokePage } from './keys.js'
import { Fields, PostForm, Hidden } from '../parts/fields.js'
import { show, showProblem } from '../parts/layout.js'
import { Id, Card } from '../parts/parts.js'
import { problemText } from '../parts/texts.js'
import { type Columns, Empty, listPage, number } from '../parts/table.js'
import { keysOfSession, projectNameOf, switchProject } from './session.js'
import { KEY_FIELD, needOperator } from './sign-in.js'

const PROJECTS = `${BASE}/projects`
const OPERATOR = { kind: 'operator' } as const

/** The project of this session, its other projects, and all projects for the operator. */
export const projectRoutes = (d: ConsoleDeps) => {
  const keysOf = (c: PageRequest): KeysOf => {
    const projectId = idIn(c.req.param('project'))
    return { projectId, path: `${PROJECTS}/${projectId}/keys`, actor: OPERATOR }
  }
  return newRoutes()
    .get('/project', (c) => projectPage(c, d))

    .post('/switch', async (c) => {
      const projectId = idIn(textIn(await c.req.parseBody(), 'project'))
      return (await switchProject(c, d, projectId))
        ? c.redirect(BASE, 303)
        : showProblem(c, 404, 'Your session has no valid key of this project')
    })

    .use('/projects', needOperator)
    .use('/projects/*', needOperator)
    .get('/projects', (c) => projectsPage(c, d))

    .post('/projects', async (c) => {
      const name = textIn(await c.req.parseBody(), 'name').trim()
      return d.service.projects.create({ name, actor: OPERATOR }).then(
        ({ id }) => c.redirect(`${PROJECTS}/${id}/keys`, 303),
        (thrown) => projectsPage(c, d, { name, problem: problemText(errorIn(thrown)) }),
      )
    })

    .get('/projects/:project/keys', async (c) => {
      const of = keysOf(c)
      await d.service.projects.get({ projectId: of.projectId })
      return keysPage(c, d, of)
    })
    .post('/projects/:project/keys', (c) => createKey(c, d, keysOf(c)))
    .get('/projects/:project/keys/:key/revoke', (c) => revokePage(c, d, keysOf(c)))
    .post('/projects/:project/keys/:key/revoke', (c) => revokeKey(c, d, keysOf(c)))

    .get('/projects/audit-log', (c) =>
      auditLogPage(c, d, { path: `${PROJECTS}/audit-log`, canOpen: false }),
    )
    .get('/projects/:project/audit-log', (c) => {
      const projectId = idIn(c.req.param('project'))
      const path = `${PROJECTS}/${projectId}/audit-log`
      return auditLogPage(c, d, { projectId, path, canOpen: false })
    })
}

async function projectPage(c: PageRequest, d: ConsoleDeps) {
  const { projectId, name, permissions } = c.get('apiKey')
  const others = (await keysOfSession(c, d)).filter((key) => key.projectId !== projectId)
  return show(
    c,
    { title: c.get('projectName') },
    <>
      <h1>
        <bdi>{c.get('projectName')}</bdi>
      </h1>
      <div class="card stack">
        <p>
          Project <code>{projectId}</code>
        </p>
        <p>
          You are signed in with the API key <bdi>{name}</bdi>: {permissions.join(', ')}.
        </p>
        <p class="buttons">
          {can(c, 'keys.list') && (
            <a class="button" href={`${BASE}/keys`}>
              API keys
            </a>
          )}
          {can(c, 'auditLog.list') && (
            <a class="button" href={`${BASE}/audit-log`}>
              Audit log
            </a>
          )}
        </p>
      </div>
      <Card class="card stack" id="others" title="Other projects">
        {await otherProjects(d, others)}
        <form method="post" action={`${BASE}/sign-in`} class="stack">
          <Fields fields={{ key: { ...KEY_FIELD, label: 'API key of another project' } }} />
          <Hidden values={{ add: 'yes' }} />
          <p class="buttons">
            <button>Open project</button>
          </p>
        </form>
      </Card>
    </>,
  )
}

async function otherProjects(d: ConsoleDeps, keys: readonly ApiKey[]) {
  const rows = keys.map(async ({ projectId, name }) => (
    <form method="post" action={`${BASE}/switch`} class="buttons">
      <button name="project" value={projectId}>
        Switch to <bdi>{await projectNameOf(d, projectId)}</bdi>
      </button>
      <span class="muted">
        with the key <bdi>{name}</bdi>
      </span>
    </form>
  ))
  return Promise.all(rows)
}

type Draft = { readonly name: string; readonly problem?: string }

const projectsPage = async (
  c: PageRequest,
  { service }: ConsoleDeps,
  draft: Draft = { name: '' },
) =>
  listPage(c, {
    title: 'Projects',
    problem: draft.problem,
    action: (
      <a class="button" href={`${PROJECTS}/audit-log`}>
        Audit log of all projects
      </a>
    ),
    before: (
      <p class="muted">
        Projects with failing webhooks or held deliveries come first. Messages, failed ones and
        tokens are of the last 30 days.
      </p>
    ),
    page: await service.projects.overview(pageOf(c)),
    columns: COLUMNS,
    next: 'More',
    empty: (
      <Empty title="No projects yet">
        <p>Create the first one below.</p>
      </Empty>
    ),
    after: (
      <PostForm
        action={PROJECTS}
        class="narrow card stack"
        intro={<h2>Create a project</h2>}
        problem={draft.problem}
        fields={{ name: { label: 'Name', required: true, maxlength: 100 } }}
        values={{ name: draft.name }}
        button="Create project"
      />
    ),
  })

const COLUMNS: Columns<ProjectOverview> = {
  Project: {
    class: 'any',
    cell: ({ id, name }) => (
      <>
        <bdi>{name}</bdi>
        <div>
          <Id id={id} />
        </div>
      </>
    ),
  },
  'Failing webhooks': number(({ failingWebhooks }) => failingWebhooks, true),
  Held: number(({ heldDeliveries }) => heldDeliveries, true),
  'Open deliveries': number(({ openDeliveries }) => openDeliveries),
  'Oldest due': { at: ({ oldestDueAt }) => oldestDueAt },
  'Open messages': number(({ openMessages }) => openMessages),
  Messages: number(({ usage }) => usage.messages),
  Failed: number(({ usage }) => usage.failed),
  Tokens: number(({ usage }) => usage.inputTokens + usage.outputTokens),
  Created: { at: ({ createdAt }) => createdAt },
  Open: {
    class: 'actions',
    cell: ({ id, name }) => (
      <>
        <a href={`${PROJECTS}/${id}/keys`} aria-label={`API keys of ${name}`}>
          API keys
        </a>{' '}
        <a href={`${PROJECTS}/${id}/audit-log`} aria-label={`Audit log of ${name}`}>
          Audit log
        </a>
      </>
    ),
  },
}
