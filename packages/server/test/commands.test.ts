import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commandLine, ENV, SLOWLY } from './command-line.js'
import { until, createSandbox, type Sandbox } from './sandbox.js'

let sandbox: Sandbox
beforeEach(() => {
  sandbox = createSandbox()
})
afterEach(() => sandbox.dispose())

const { cli, json } = commandLine(() => sandbox)

describe('the commands on the database', SLOWLY, () => {
  it('create and list projects', async () => {
    expect((await cli('projects list')).stdout).toBe('No projects.\n')
    const made = await json('projects create support')
    expect(made).toEqual({
      id: expect.any(String),
      name: 'support',
      createdAt: expect.stringMatching(/Z$/),
    })
    expect(await json('projects list')).toEqual([made])
    expect((await cli('projects list')).stdout).toMatch(
      new RegExp(`^ID +NAME +CREATED AT\\n${String(made['id'])}  support`),
    )
    expect(await cli('projects create support')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^project "support" already exists/),
    })
  })

  it('print the usage, of agents and webhooks too', async () => {
    await cli('projects create default')
    for (const by of ['', ' --by agent', ' --by webhook --step 5m'])
      expect(await cli(`usage${by}`)).toEqual({
        code: 0,
        stdout: 'Nothing happened.\n',
        stderr: '',
      })
    const day = { from: '2030-01-01T00:00:00.000Z', to: '2030-01-31T00:00:00.000Z', rows: [] }
    expect(await json('usage --from 2030-01-01 --to 2030-01-31')).toMatchObject(day)
    expect(await cli('usage --from 2000-01-01')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('from must be less than 600 steps before to'),
    })
  })

  it('create, list and revoke keys of a running server', async () => {
    await cli('projects create default')
    const made = await json('keys create --permission project:message web --expires-at 2100-01-01')
    expect(made).toMatchObject({
      name: 'web',
      permissions: ['project:message'],
      expiresAt: '2100-01-01T00:00:00.000Z',
      key: expect.stringMatching(/^amk_/),
    })
    expect(await cli('keys create none')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('permissions is required, unless role is given'),
    })
    const { key, ...shown } = made
    expect(await json('keys list')).toEqual([shown])
    expect((await cli('keys list')).stdout).toMatch(/^ID +NAME +PERMISSIONS +CREATED AT +STATE\n/)

    const server = sandbox.cli(['start'], { ...ENV, PORT: '0' })
    const { url } = JSON.parse(await server.find(/^.*"msg":"listening"}$/m)) as { url: string }
    const statusOf = async () =>
      (
        await fetch(`${url}/v1/agents/none/messages`, {
          headers: { authorization: `Bearer ${String(key)}` },
        })
      ).status
    expect(await statusOf()).toBe(404)

    const { key: auditor } = await json('keys create --permission project:audit auditor')
    const headers = { authorization: `Bearer ${String(auditor)}` }
    const log = await (await fetch(`${url}/v1/audit-log`, { headers })).json()
    const byCli = { actor: { kind: 'cli' }, action: 'key.created' }
    expect(log).toMatchObject({ data: [byCli, byCli, { actor: { kind: 'cli' } }] })

    await cli('keys create ann --role viewer')
    expect((await cli('keys list')).stdout).toMatch(/ ann +viewer +/)
    expect(await json(`keys revoke ${String(shown['id'])}`)).toEqual({
      id: shown['id'],
      revoked: true,
    })
    expect(await statusOf()).toBe(401)
    expect((await cli('keys list')).stdout).toContain('revoked 2')
  })

  it('create agents that a running server starts and stops', async () => {
    await cli('projects create default')
    const file = sandbox.write(
      'agents.mjs',
      'export default { shout: ({ message }) => message.toUpperCase() }',
    )
    const server = sandbox.cli(['start', '--agents', file], { ...ENV, PORT: '0' })
    await server.find(/"msg":"listening"/)
    const made = await json(`agents create shout --handler shout --agents ${file} --concurrency 2`)
    expect(made).toMatchObject({
      name: 'shout',
      runtime: { kind: 'function', handler: 'shout' },
      desiredState: 'running',
      concurrency: 2,
    })
    const become = (state: string) =>
      until(
        async () =>
          (await json<{ state: string }[]>('agents list')).map((agent) => agent.state).join() ===
          state,
      )
    await become('running')
    expect((await cli('agents stop shout')).stdout).toMatch(
      /^Requested to stop agent shout \(state: running\)\./,
    )
    await become('stopped')
    expect(await json('agents start shout')).toMatchObject({ desiredState: 'running' })
    await become('running')
    expect(await json('agents delete shout')).toEqual({ agent: 'shout', deleted: true })
    expect((await cli('agents list')).stdout).toBe('No agents.\n')
  })

  it('show and update agents', async () => {
    await cli('projects create default')
    const made = await json('agents create first --handler echo --max-queued 7 --stopped')
    expect(made).toMatchObject({
      defaultExecutionPrincipal: { type: 'service' },
      maxQueued: 7,
      onBusy: 'queue',
    })
    const change =
      '--name second --principal end_user --concurrency 2 --max-attempts 5 --on-busy reject --a2a http://127.0.0.1:9/'
    const env = { ...ENV, SERVICE_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' }
    const changed = await json(`agents update first ${change}`, env)
    expect(changed).toMatchObject({
      id: made['id'],
      name: 'second',
      defaultExecutionPrincipal: { type: 'end_user' },
      concurrency: 2,
      maxAttempts: 5,
      maxQueued: 0,
      onBusy: 'reject',
      runtime: { kind: 'a2a' },
    })
    expect(await json('agents show second')).toEqual(changed)
    const { stdout } = await cli('agents show second')
    expect(stdout).toMatch(/^defaultExecutionPrincipal {2}{"type":"end_user"}$/m)
    expect(stdout).toMatch(/^state +stopped$/m)
    const a2a = { enabled: true, description: 'Helps' }
    const card = sandbox.write('card.json', JSON.stringify(a2a))
    expect(await json(`agents update second --card ${card}`)).toMatchObject({ a2a })
    const signed = await json('agents update second --url http://127.0.0.1:9/', env)
    expect(signed).toMatchObject({
      runtime: { kind: 'http' },
      signingSecret: expect.stringMatching(/^whsec_/),
    })
    expect(await cli('agents update second')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^nothing to update/),
    })
    expect(await cli('agents show first')).toMatchObject({
      code: 1,
      stderr: 'cannot show agent first: no such agent\n',
    })
  })

  it('never run an agent', async () => {
    await cli('projects create default')
    await cli('agents create echo --handler echo')
    expect(await json('agents list')).toEqual([
      expect.objectContaining({ state: 'stopped', desiredState: 'running' }),
    ])
  })

  it('show the signing secret of an HTTP agent only once', async () => {
    await cli('projects create default')
    const env = { ...ENV, SERVICE_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' }
    expect(await json('agents create remote --url http://127.0.0.1:9/', env)).toMatchObject({
      state: 'stopped',
      signingSecret: expect.stringMatching(/^whsec_/),
    })
    expect((await cli('agents list --json', env)).stdout).not.toContain('whsec_')
  })

  it('create agents of every kind', async () => {
    await cli('projects create default')
    const file = sandbox.write('agents.mjs', 'export const programs = { gem: { command: "gem" } }')
    const runtime = sandbox.write(
      'runtime.json',
      '{"kind":"openai","baseUrl":"https://models.example.com/v1","model":"m","apiKey":"secret"}',
    )
    const kinds: [string, object][] = [
      ['--openai https://models.example.com/v1 --model small', { kind: 'openai', model: 'small' }],
      [`--runtime ${runtime}`, { kind: 'openai', apiKey: { set: true } }],
      [`--acp gem --agents ${file}`, { kind: 'acp', program: 'gem' }],
      [`--program gem --agents ${file}`, { kind: 'process', program: 'gem' }],
      ['--a2a http://127.0.0.1:9/', { kind: 'a2a' }],
    ]
    const env = { ...ENV, SERVICE_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' }
    for (const [index, [options, shown]] of kinds.entries()) {
      expect(await json(`agents create a${index} ${options}`, env)).toMatchObject({
        runtime: shown,
      })
    }
  })

  it('update, test, rotate, disable and enable webhooks', async () => {
    await cli('projects create default')
    await cli('agents create echo --handler echo')
    const own = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
    const { id, secret } = await json(
      `webhooks create https://93.184.216.34/ --secret-file ${sandbox.write('secret.txt', `${own}\n`)}`,
    )
    expect(secret).toBe(own)
    const on = (verb: string, rest = '') => json(`webhooks ${verb} ${String(id)}${rest}`)
    expect(
      await on(
        'update',
        ' --url https://93.184.216.34/new --event agent.error --filter {"sessionIdPrefix":"chat/"} --description mine',
      ),
    ).toMatchObject({
      url: 'https://93.184.216.34/new',
      events: ['agent.error'],
      filter: { sessionIdPrefix: 'chat/' },
      description: 'mine',
    })
    const limits = ' --max-concurrency 3 --rate 0.5 --timeout 20s --retry-schedule 5s,5m'
    expect(await on('update', limits)).toMatchObject({
      maxConcurrency: 3,
      requestsPerSecond: 0.5,
      timeoutMs: 20_000,
      retrySchedule: [5_000, 300_000],
    })
    const none = ' --max-concurrency - --rate - --timeout - --retry-schedule -'
    const cleared = await on('update', ` --filter - --description -${none}`)
    expect(cleared).toMatchObject({ url: 'https://93.184.216.34/new' })
    for (const field of ['filter', 'description', 'maxConcurrency', 'timeoutMs', 'retrySchedule'])
      expect(cleared).not.toHaveProperty(field)
    expect(await on('update', ' --url https://93.184.216.34:8443/ --drop-headers')).toMatchObject({
      url: 'https://93.184.216.34:8443/',
    })
    expect((await cli(`webhooks update ${String(id)}`)).code).toBe(2)
    expect(await on('test')).toMatchObject({
      webhookId: id,
      event: 'webhook.test',
      status: 'pending',
    })
    const rotated = await on('rotate', ' --grace 1h')
    expect(rotated['secret']).toMatch(/^whsec_/)
    expect(rotated['secret']).not.toBe(secret)
    expect(rotated['previousSecretUntil']).toMatch(/Z$/)
    expect((await on('finish-rotation'))['previousSecretUntil']).toBeUndefined()
    expect(await on('disable')).toMatchObject({ enabled: false, disabledReason: 'operator' })
    expect(await on('enable')).toMatchObject({ enabled: true })
  })

  it('list, show, cancel, redeliver and recover deliveries', async () => {
    await cli('projects create default')
    const { id: webhook } = await json('webhooks create https://93.184.216.34/')
    const { id } = await json(`webhooks test ${String(webhook)}`)
    const listed = await json<object[]>(
      `deliveries list --webhook ${String(webhook)} --status pending --event webhook.test --after 2020-01-01`,
    )
    expect(listed).toEqual([expect.objectContaining({ id, status: 'pending', attemptCount: 0 })])
    expect(await json('deliveries list --before 2020-01-01')).toEqual([])
    expect(await json(`deliveries show ${String(id)}`)).toMatchObject({
      id,
      body: expect.stringContaining('webhook.test'),
      attempts: [],
    })
    expect((await cli(`deliveries show ${String(id)}`)).stdout).toContain('No attempts yet.')
    expect(await json(`deliveries cancel ${String(id)}`)).toMatchObject({ status: 'cancelled' })
    expect(await json(`deliveries recover ${String(webhook)} --status cancelled`)).toMatchObject({
      status: 'sending',
      waiting: 1,
      filter: { webhookId: webhook, status: 'cancelled' },
      matched: 1,
      redelivered: 1,
    })
    expect((await cli('deliveries recover')).stdout).toBe(
      'No exhausted delivery matches. To recover others, use --status.\n',
    )
    expect(await json(`deliveries redeliver ${String(id)}`)).toMatchObject({ status: 'pending' })
    expect(await json(`deliveries skip ${String(id)}`)).toMatchObject({
      status: 'cancelled',
      cancelledReason: 'skipped',
    })
    expect(await json(`deliveries redeliver ${String(id)}`)).toMatchObject({ status: 'pending' })
    expect((await cli('deliveries list')).stdout).toMatch(
      /^ID +WEBHOOK +EVENT +STATUS +ATTEMPTS +NEXT ATTEMPT +CREATED AT\n\S+ +https:\S+ \([\w-]{36}\)/,
    )
  })

  it('list the changes of a project, with the names of what changed', async () => {
    await cli('projects create default')
    const { id } = await json('webhooks create https://93.184.216.34/ --description crm')
    expect(await json('audit-log --action webhook.created --actor cli')).toEqual([
      expect.objectContaining({ action: 'webhook.created', targetId: id, actor: { kind: 'cli' } }),
    ])
    expect((await cli(`audit-log --target ${String(id)}`)).stdout).toMatch(
      /^CREATED AT +CHANGE +TARGET +FIELDS +BY\n\S+ +webhook.created +crm \([\w-]{36}\) +- +cli\n$/,
    )
    expect((await cli('audit-log --actor portal')).stdout).toBe('No changes found.\n')
  })

  it('create a link of the portal once, and end it', async () => {
    await cli('projects create default')
    expect(await cli('portal-links create')).toMatchObject({ code: 1 })
    const env = { ...ENV, SERVICE_PUBLIC_URL: 'https://msg.example' }
    const link = await json(
      'portal-links create --permission project:message --read-only --lifetime 1h',
      env,
    )
    expect(link).toMatchObject({
      url: expect.stringMatching(/^https:\/\/msg.example\/console\/portal\?code=/),
      permissions: ['project:message'],
    })
    expect((await cli('portal-links create', env)).stdout).toMatch(/\n\nOpen the link before /)
    expect(await json(`portal-links end ${String(link['id'])}`)).toMatchObject({ ended: true })
  })

  it('create, list and delete webhooks by the rules of the server', async () => {
    await cli('projects create default')
    expect(await cli('webhooks create http://127.0.0.1:9/')).toMatchObject({
      code: 1,
      stderr: 'cannot create the webhook: url must use https\n',
    })
    const env = { ...ENV, SERVICE_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' }
    const made = await json(
      'webhooks create http://127.0.0.1:9/ --event message.responded --event agent.error',
      env,
    )
    const { secret, ...shown } = made
    expect(secret).toMatch(/^whsec_/)
    expect(shown).toMatchObject({
      url: 'http://127.0.0.1:9/',
      events: ['message.responded', 'agent.error'],
      enabled: true,
    })
    expect(await json('webhooks list')).toEqual([shown])
    const { id } = shown
    expect((await cli('webhooks list')).stdout).toMatch(
      /HEALTH +LAST FAILURE\n.* enabled +untried +none\n$/,
    )
    expect(await json(`webhooks show ${String(id)}`)).toEqual(shown)
    expect((await cli(`webhooks show ${String(id)}`)).stdout).toMatch(/^circuit +closed$/m)
    expect(await cli('webhooks show nothing')).toMatchObject({
      code: 1,
      stderr: 'cannot show webhook nothing: no such webhook\n',
    })
    expect(await json(`webhooks delete ${String(shown['id'])}`)).toEqual({
      id: shown['id'],
      deleted: true,
    })
    expect((await cli('webhooks list')).stdout).toBe('No webhooks.\n')
  })

  it('use the database that dev created in this directory', async () => {
    const dev = sandbox.cli(['dev'], { PORT: '0' })
    await dev.find(/listen --try/)
    expect((await cli('agents list', {})).stdout).toMatch(/^NAME.*\necho {2}running/)
    expect((await cli('webhooks create http://localhost:9/', {})).code).toBe(0)
  })

  it('use the master key that dev created for a database from the environment', async () => {
    const own = { SERVICE_DATABASE_URL: 'file:service.db' }
    const dev = sandbox.cli(['dev'], { ...own, PORT: '0' })
    await dev.find(/listen --try/)
    expect((await cli('agents list', own)).stdout).toMatch(/^NAME.*\necho {2}running/)
    expect((await cli('webhooks create http://localhost:9/', own)).code).toBe(0)
    expect((await cli('backup copy.db', own)).stdout).toContain(
      'Store a copy of data/master-key in another place.',
    )
  })

  it.each([
    [
      {},
      'migrate',
      /^no database found; set SERVICE_DATABASE_URL, or run `agent-messaging dev` .* first\n$/,
    ],
    [
      {},
      'status',
      /^no database found; .* first; or select a server with --server or --profile\n$/,
    ],
    [
      { SERVICE_DATABASE_URL: 'file:service.db' },
      'projects list',
      /^SERVICE_MASTER_KEY is required; .*\n$/,
    ],
    [{ ...ENV, PORT: 'x' }, 'projects list', /^PORT must be .*; got "x"\n$/],
  ])('exit with 2 and one line: environment %j, command %s', async (env, line, said) => {
    expect(await cli(line, env)).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(said),
    })
  })

  it('exit with 1 and one line when they fail', async () => {
    await cli('projects create default')
    const id = '0198c2f4-7a3b-7cde-8f01-23456789abcd'
    const fails = async (line: string, said: string): Promise<void> =>
      expect(await cli(line)).toEqual({ code: 1, stdout: '', stderr: said })
    await fails('keys list --project nobody', 'project "nobody" not found\n')
    await fails('agents start nobody', 'cannot start agent nobody: no such agent\n')
    await fails('agents delete nobody', 'cannot delete agent nobody: no such agent\n')
    await fails(
      'agents create x --handler other',
      'cannot create agent x: runtime handler must be one of: echo (add others with --agents <file>, here and at server start)\n',
    )
    await cli('agents create echo --handler echo')
    await fails(
      'agents update echo --url https://93.184.216.34/',
      'cannot update agent echo: stop the agent before you change its runtime\n',
    )
    await fails(
      'webhooks create https://10.0.0.1/',
      'cannot create the webhook: url must not point to a private or reserved address that this service does not allow (see SERVICE_WEBHOOK_ALLOWED_CIDRS)\n',
    )
    await fails(`deliveries show ${id}`, `cannot show delivery ${id}: no such delivery\n`)
    await fails(`keys revoke ${id}`, `cannot revoke key ${id}: no such API key\n`)
    await fails(`webhooks delete ${id}`, `cannot delete webhook ${id}: no such webhook\n`)
  })

  it('name the line of a syntax error in the agents file', async () => {
    await cli('projects create default')
    const wrong = sandbox.write('wrong.mjs', 'const a = 1\nexport default { ! }')
    const importing = sandbox.write('importing.mjs', 'import "./wrong.mjs"')
    // A process, because here vitest loads the module and words the error.
    const said = async (file: string) => {
      const words = `agents create x --handler x --agents ${file}`.split(' ')
      const program = sandbox.cli(words, ENV)
      await program.ended
      return program.stderr()
    }
    expect(await said(wrong)).toMatch(
      /^--agents: \S+wrong\.mjs cannot be loaded, line 2: Unexpected token/,
    )
    expect(await said(importing)).toMatch(
      /^--agents: \S+importing\.mjs cannot be loaded: Unexpected token/,
    )
  })

  it('exit with 2 when they are mistyped', async () => {
    expect(await cli('agnts list')).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('(Did you mean agents?)'),
    })
  })

  it('print the settings as a table and as an .env file', async () => {
    expect((await cli('config', {})).stdout).toContain('| `SERVICE_MASTER_KEY` |')
    expect((await cli('config --env', {})).stdout).toContain('\n# PORT=3000\n')
  })
})
