import type { Policy } from '@org/agent-messaging-core'
import { Hono } from 'hono'
import { accepted, refused } from '@org/agent-messaging-testing'
import { describe, expect, it } from 'vitest'
import { contractOf, type Document } from '../../test/contract.js'
import { openScene, UNKNOWN_ID } from '../../test/scene.js'

const metrics = { read: async () => ({ contentType: 'text/plain', text: '' }), token: 'a-token' }

async function opened(policy: Partial<Policy> = {}) {
  const scene = await openScene({ http: { metrics }, policy })
  const { status, json } = await scene.ask('GET', '/openapi.json', { key: '' })
  expect(status).toBe(200)
  return { ...scene, document: json as Document }
}

/** Yields every object in the document with its path. */
function* partsOf(value: unknown, path = '#'): Generator<[string, Record<string, unknown>]> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield [path, value as Record<string, unknown>]
  for (const [key, inner] of Object.entries(value))
    yield* partsOf(inner, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
}

const operationsIn = ({ paths }: Document) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )

/** Returns the schemas of bodies. Parameters have no schemas worth checking. */
const schemasIn = (document: Document) => Object.entries(document.components['schemas'] ?? {})

describe('the document and the routes', () => {
  it('starts with sending a message', async () => {
    const { document } = await opened()
    expect(operationsIn(document)[0]).toMatchObject({
      path: '/v1/agents/{id}/messages',
      operation: { tags: ['Messages'] },
    })
  })

  it('describes every route', async () => {
    const { app, document } = await opened()
    // Handlers have one parameter, middleware has two.
    const routes = app.routes.filter(
      ({ handler, path }) =>
        handler.length < 2 &&
        path !== '/v1/*' &&
        !path.startsWith('/v1/projects/:projectOfPlatform/') &&
        !/^\/(docs|openapi\.json|schemas|inputs)(\/|$)/.test(path),
    )
    expect(routes.length).toBeGreaterThan(35)
    const undescribed = routes.filter(({ method, path }) => {
      const described = document.paths[path.replaceAll(/:(\w+)/g, '{$1}')] ?? {}
      return method === 'ALL'
        ? Object.keys(described).length === 0
        : !(method.toLowerCase() in described)
    })
    expect(undescribed.map(({ method, path }) => `${method} ${path}`)).toEqual([])
  })

  it('describes no missing route', async () => {
    const { ask, document } = await opened()
    for (const { path, method } of operationsIn(document)) {
      const { status, json } = await ask(
        method.toUpperCase(),
        path.replaceAll(/\{\w+\}/g, UNKNOWN_ID),
        { key: 'nobody-has-this' },
      )
      expect([status, json?.error?.message], path).not.toEqual([404, 'No such route'])
      expect(status, `${method} ${path}`).not.toBe(405)
    }
  })

  it('names the permissions that the routes require', async () => {
    const { ask, keyWith, document } = await opened()
    const sender = await keyWith(['project:message'])
    const admin = await keyWith(['project:admin'])
    for (const { path, method, operation } of operationsIn(document)) {
      const needed = (operation.security ?? []).flatMap(({ projectKey = [] }) => projectKey)
      const { key } = needed.includes('project:message') ? admin : sender
      const { json } = await ask(method.toUpperCase(), path.replaceAll(/\{\w+\}/g, UNKNOWN_ID), {
        key,
      })
      const lacking =
        needed.length > 0 ? `The caller lacks the permission ${needed.join(' or ')}` : undefined
      expect(json?.error?.code === 'FORBIDDEN' ? json.error.message : undefined, path).toBe(lacking)
    }
  })

  it('omits /metrics if the host has no metrics', async () => {
    const { ask } = await openScene()
    expect((await ask('GET', '/openapi.json')).json.paths).not.toHaveProperty('/metrics')
  })

  it('names the path where the host mounted the app', async () => {
    const { app } = await openScene()
    const host = new Hono().route('/chat', app)
    const mounted = (await (await host.request('/chat/openapi.json')).json()) as {
      servers: unknown
    }
    const alone = (await (await app.request('/openapi.json')).json()) as { servers: unknown }
    expect([mounted.servers, alone.servers]).toEqual([[{ url: '/chat' }], [{ url: '/' }]])
  })

  it('leaves out the webhooks if a generator cannot read them', async () => {
    const { ask, document } = await opened()
    const { webhooks, ...rest } = document
    expect(Object.keys(webhooks)).toContain('message.responded')
    expect((await ask('GET', '/openapi.json?webhooks=false')).json).toEqual(rest)
    expect((await ask('GET', '/openapi.json?webhooks=true')).json).toEqual(document)
  })

  it('names the signature headers with the operator’s prefix', async () => {
    const { ask } = await openScene({ policy: { headerPrefix: 'X-Acme' } })
    const { json } = await ask('GET', '/openapi.json')
    const names = json.webhooks['message.responded'].post.parameters.map(
      ({ name }: { name: string }) => name,
    )
    expect(names.slice(0, 3)).toEqual(['X-Acme-Delivery', 'X-Acme-Event', 'X-Acme-Signature'])
  })
})

describe('the document', () => {
  it('describes each header of a delivery by itself', async () => {
    const { document } = await opened()
    const post = document.webhooks['message.responded']?.post
    const texts = (post?.parameters ?? []).map((one) => 'description' in one && one.description)
    expect(texts.length).toBeGreaterThan(5)
    expect(new Set(texts).size).toBe(texts.length)
  })

  it('has the parts that OpenAPI 3.1 requires', async () => {
    const { document } = await opened()
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: expect.any(String), version: expect.any(String) },
    })
    for (const { path, operation } of operationsIn(document)) {
      expect(Object.keys(operation.responses).length, path).toBeGreaterThan(1)
      const { '4XX': refusal, '5XX': failure, ...successes } = operation.responses
      const error = { $ref: '#/components/responses/Error' }
      expect([refusal, failure]).toEqual([error, error])
      for (const status of Object.keys(successes)) expect(status).toMatch(/^2\d\d$/)
      for (const parameter of operation.parameters)
        if ('in' in parameter) expect(parameter, path).toHaveProperty('description')
      const inPath = operation.parameters.flatMap((parameter) =>
        'in' in parameter && parameter.in === 'path' ? [parameter] : [],
      )
      expect(inPath.map(({ name, required }) => required && `{${name}}`)).toEqual(
        path.match(/\{\w+\}/g) ?? [],
      )
    }
    for (const [path, part] of partsOf(document)) {
      if (/\/responses\/\w+$/.test(path) && !('$ref' in part))
        expect(part['description'], path).toEqual(expect.any(String))
      if ('in' in part && !path.includes('/schemas/'))
        expect(part, path).toMatchObject({ name: expect.any(String), schema: expect.any(Object) })
    }
  })

  it('has no broken reference and no unused component', async () => {
    const { document } = await opened()
    const there = new Set([...partsOf(document)].map(([path]) => path))
    const referred = new Set(
      [...partsOf(document)].flatMap(([, { $ref }]) => (typeof $ref === 'string' ? [$ref] : [])),
    )
    expect([...referred].filter((ref) => !there.has(ref))).toEqual([])
    const schemas = schemasIn(document).map(([name]) => `#/components/schemas/${name}`)
    expect(schemas.filter((path) => !referred.has(path))).toEqual([])
    expect(schemas.filter((path) => path.includes('__'))).toEqual([])
  })

  it('gives every operation a unique id', async () => {
    const { document } = await opened()
    const operations = [
      ...operationsIn(document).map(({ operation }) => operation),
      ...Object.values(document.webhooks).map(({ post }) => post),
    ]
    const ids = operations.map(({ operationId }) => operationId)
    expect(ids).not.toContain(undefined)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
  })

  it('defines the security schemes of its operations', async () => {
    const { document } = await opened()
    const wanted = operationsIn(document).flatMap(({ operation }) =>
      (operation.security ?? []).flatMap((scheme) => Object.keys(scheme)),
    )
    expect([...new Set(wanted)].sort()).toEqual(
      Object.keys(document.components['securitySchemes'] ?? {}).sort(),
    )
  })

  it('has empty schemas only for arbitrary JSON', async () => {
    const { document } = await opened()
    const ofChange = 'changes/additionalProperties/properties'
    const anything = [
      'channel',
      'correlationId',
      'additionalProperties',
      'value',
      'answer',
      'input',
      'output',
      'DataPart/properties/data',
      'NewDataPart/properties/data',
      'AnswerDataPart/properties/data',
      `${ofChange}/from`,
      `${ofChange}/to`,
    ]
    const words = ['type', '$ref', 'anyOf', 'oneOf', 'const', 'enum']
    const silent = [...partsOf(document)].filter(
      ([path, part]) =>
        /\/(properties\/[^/]+|items|schema)$/.test(path) && !words.some((word) => word in part),
    )
    expect(
      silent
        .map(([path]) => path)
        .filter((path) => !anything.some((name) => path.endsWith(`/${name}`))),
    ).toEqual([])
  })

  it('has a discriminator and named variants wherever a union has variants', async () => {
    const { document } = await opened()
    const unions = [...partsOf(document)].filter(([, part]) => 'discriminator' in part)
    expect(unions.map(([path]) => path.split('/').at(-1) ?? '').toSorted()).toEqual([
      'DefaultExecutionPrincipal',
      'ExecutionPrincipal',
      'FailedAttempt',
      'Part',
      'PartEvent',
      'Runtime',
      'ServiceEvent',
      'StreamEvent',
      // The parts of a send, in two answers and in the request.
      'items',
      'items',
      'items',
    ])
    for (const [path, { oneOf, discriminator }] of unions) {
      const { mapping } = discriminator as { readonly mapping: Record<string, string> }
      const variants = (oneOf as readonly { $ref: string }[]).map(({ $ref }) => $ref)
      expect(Object.values(mapping), path).toEqual(variants)
    }
  })

  it('says which texts the service refuses', async () => {
    const { ask, document } = await opened()
    const schemaOf = (path: string, name: string) =>
      document.paths[path]?.['get']?.parameters.flatMap((one) =>
        'in' in one && one.name === name ? [String(one.schema['pattern'])] : [],
      )[0] ?? ''
    for (const [path, name, right, wrong] of [
      ['/v1/messages', 'endUserId', 'u-1', 'u\0'],
      ['/v1/messages', 'correlationId', 'c-1', 'c\0'],
      ['/v1/principals/{endUserId}', 'cursor', '.', 'next'],
    ] as const) {
      const pattern = new RegExp(schemaOf(path, name), 'u')
      for (const text of [right, wrong]) {
        const url = `${path.replace('{endUserId}', 'u-1')}?${name}=${encodeURIComponent(text)}`
        const { status } = await ask('GET', url)
        expect([text, status, pattern.test(text)]).toEqual([
          text,
          text === right ? 200 : 400,
          text === right,
        ])
      }
    }
  })

  it.each([
    ['a', true],
    ['', false],
    ['a\0', false],
  ])('says whether the service accepts the description %j of a card', async (description, fits) => {
    const { ask, document } = await opened()
    const body = { name: 'a', runtime: { kind: 'fake' }, a2a: { enabled: true, description } }
    const { status } = await ask('POST', '/v1/agents', { body })
    const problems = contractOf(document).sentProblems('POST', '/v1/agents', body)
    expect([status, problems.length === 0]).toEqual([fits ? 201 : 400, fits])
  })

  it('has no schema that a generator cannot turn into code', async () => {
    const { document } = await opened()
    const parts = [...partsOf(document)]
    expect(parts.filter(([, { pattern }]) => String(pattern).includes('\0'))).toEqual([])
    const constants = parts.filter(([, part]) => typeof part['const'] === 'boolean')
    expect(constants).toEqual([])
  })

  it('closes no schema that an answer uses', async () => {
    const { document } = await opened()
    const schemas = document.components['schemas'] ?? {}
    const answered = new Set<string>()
    const visit = (part: unknown): void => {
      for (const [, ref] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g))
        if (ref !== undefined && !answered.has(ref)) {
          answered.add(ref)
          visit(schemas[ref])
        }
    }
    visit(operationsIn(document).map(({ operation }) => operation.responses))
    visit(document.webhooks)
    expect(answered.size).toBeGreaterThan(40)
    const closed = [...answered].filter((name) =>
      JSON.stringify(schemas[name]).includes('"additionalProperties":false'),
    )
    expect(closed).toEqual([])
  })

  it('has schemas that compile, and valid examples', async () => {
    const { document } = await opened()
    const { invalidities } = contractOf(document)
    let checked = 0
    for (const [name, schema] of schemasIn(document)) {
      expect(invalidities(schema, undefined), name).not.toEqual([])
      for (const example of (schema['examples'] as unknown[] | undefined) ?? []) {
        expect(invalidities(schema, example), name).toEqual([])
        checked++
      }
    }
    const error = document.components['responses']?.['Error'] as {
      readonly content: Record<string, { readonly examples: Record<string, { value: unknown }> }>
    }
    for (const [code, { value }] of Object.entries(
      error.content['application/json']?.examples ?? {},
    ))
      expect(invalidities({ $ref: '#/components/schemas/Error' }, value), code).toEqual([])
    expect(checked).toBeGreaterThan(15)
  })
})

describe('the limits of a field', () => {
  const agent = { runtime: { kind: 'fake' } }
  const emoji = (count: number): string => '\u{1f600}'.repeat(count)
  const webhook = { url: 'https://receiver.example/', events: ['*'] }
  const key = { name: 'shop', permissions: ['project:message'] }
  const secretOf = (bytes: number): string => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`

  it.each<
    [
      schema: string,
      path: string,
      body: object,
      field: string,
      right: readonly unknown[],
      wrong: readonly unknown[],
    ]
  >([
    [
      'NewAgent',
      '/v1/agents',
      agent,
      'name',
      ['a', 'a-1', 'a'.repeat(63)],
      ['', 'A', '-a', 'a-', 'a b', 'a'.repeat(64)],
    ],
    ['NewWebhook', '/v1/webhooks', webhook, 'events', [['*']], [[], ['nothing']]],
    [
      'NewWebhook',
      '/v1/webhooks',
      webhook,
      'description',
      ['a', 'a'.repeat(500), emoji(500), null],
      ['', 'a'.repeat(501), emoji(501)],
    ],
    [
      'NewWebhook',
      '/v1/webhooks',
      webhook,
      'url',
      [`https://a.example/${'a'.repeat(2_030)}`],
      ['', `https://a.example/${'a'.repeat(2_031)}`],
    ],
    [
      'NewWebhook',
      '/v1/webhooks',
      webhook,
      'secret',
      [24, 25, 26, 32, 63, 64].map(secretOf),
      ['', 'secret', secretOf(32).slice(6), `${secretOf(32)}!`, secretOf(23), secretOf(65)],
    ],
    ['NewWebhook', '/v1/webhooks', webhook, 'ordering', ['session', 'none', null], ['other', '']],
    ['NewApiKey', '/v1/keys', key, 'name', ['a', 'a'.repeat(100)], ['', 'a'.repeat(101)]],
    [
      'NewWebhook',
      '/v1/webhooks',
      webhook,
      'headers',
      [{ 'X-A': 'b' }, { "!#$%&'*+-.^_`|~": '' }],
      [{ 'a b': 'c' }, { '': 'c' }, { 'X-A': '\n' }, { ['a'.repeat(129)]: 'c' }],
    ],
    [
      'NewWebhook',
      '/v1/webhooks',
      webhook,
      'filter',
      [
        { sessionIdPrefix: emoji(256) },
        { metadata: [{ path: 'a.b', equals: null }] },
        { metadata: [{ path: 'a', exists: false }] },
        { data: [{ path: 'a', prefix: emoji(1_000) }] },
        {
          data: [
            { path: 'a', min: -1.5 },
            { path: 'a', max: 0 },
            { path: 'a', min: 1, max: 1 },
          ],
        },
      ],
      [
        {},
        { sessionIdPrefix: emoji(257) },
        { metadata: [] },
        { metadata: [{ path: 'a..b', exists: true }] },
        { metadata: [{ path: 'a' }] },
        { metadata: [{ path: 'a', equals: 1, exists: true }] },
        { data: [] },
        { data: [{ path: 'a', prefix: '' }] },
        { data: [{ path: 'a', prefix: emoji(1_001) }] },
        { data: [{ path: 'a', min: '1' }] },
        { data: [{ path: 'a', prefix: 'b', max: 1 }] },
        { other: 1 },
      ],
    ],
    ['NewApiKey', '/v1/keys', key, 'permissions', [['project:admin']], [[], ['nothing']]],
  ])(
    '%s of %s matches the rule of the service (%s: %s)',
    async (name, path, body, field, right, wrong) => {
      const { ask, document } = await opened()
      const { invalidities } = contractOf(document)
      const verdicts = async (value: unknown) => {
        const given = { ...body, [field]: value }
        const { status } = await ask('POST', path, { body: given })
        return [
          value,
          status === 201,
          invalidities({ $ref: `#/components/schemas/${name}` }, given).length === 0,
        ]
      }
      for (const value of right) expect(await verdicts(value)).toEqual([value, true, true])
      for (const value of wrong) expect(await verdicts(value)).toEqual([value, false, false])
    },
  )
})

describe('the documented events', () => {
  it('match the events that are sent', async () => {
    const { ask, createAgent, createSlowAgent, sender, runtime, clock, document } = await opened({
      retry: { delaysMs: [], jitter: 0, maxRetryAfterMs: 0 },
    })
    const { json: told } = await ask('POST', '/v1/webhooks', {
      body: { url: 'https://receiver.example/all', events: ['*'] },
    })
    await ask('POST', `/v1/webhooks/${told.id}/test`)
    await clock.advance(0)
    const { json: leaving } = await ask('POST', '/v1/webhooks', {
      body: { url: 'https://gone.example/', events: ['agent.stopped'], disableOnGone: true },
    })
    sender.script(refused(410))
    await ask('POST', `/v1/webhooks/${leaving.id}/test`)
    await clock.advance(0)

    const { json: failing } = await ask('POST', '/v1/webhooks', {
      body: { url: 'https://failing.example/', events: ['agent.stopped'] },
    })
    for (const outcome of [refused(503, 60_000), accepted()]) {
      sender.script(outcome)
      await ask('POST', `/v1/webhooks/${failing.id}/test`)
      await clock.advance(0)
    }

    const echo = await createAgent()
    const metadata = { channel: ['any', { json: true }], correlationId: null }
    await ask('POST', `/v1/agents/${echo.id}/messages`, {
      body: { sessionId: 's', message: 'm', metadata },
    })
    const slow = await createSlowAgent()
    const sent = await ask('POST', `/v1/agents/${slow.id}/messages`, {
      body: { sessionId: 's', message: 'm' },
      headers: { Prefer: 'respond-async' },
    })
    runtime.fail(sent.json.messageId)
    const { json: unwanted } = await ask('POST', `/v1/agents/${slow.id}/messages`, {
      body: { sessionId: 's', message: 'm' },
      headers: { Prefer: 'respond-async' },
    })
    await ask('POST', `/v1/agents/${slow.id}/messages/${unwanted.messageId}/cancel`)
    const { json: asking } = await ask('POST', `/v1/agents/${slow.id}/messages`, {
      body: { sessionId: 'asking', message: 'm', metadata },
      headers: { Prefer: 'respond-async' },
    })
    const question = { question: 'Which?', options: ['a'], schema: { type: 'string' } }
    runtime.ask(asking.messageId, { ...question, expiresInMs: 8_000, onExpiry: { answer: 'a' } })
    await ask('POST', `/v1/agents/${echo.id}/stop`)
    await clock.advance(60_000)

    const { invalidities } = contractOf(document)
    const bodies = sender.requests.map(({ body }) => JSON.parse(body) as { event: string })
    expect(new Set(bodies.map(({ event }) => event))).toEqual(
      new Set(Object.keys(document.webhooks)),
    )
    for (const body of bodies) {
      const schema =
        document.webhooks[body.event]?.post.requestBody?.content['application/json']?.schema ?? {}
      expect(invalidities(schema, body), body.event).toEqual([])
    }
    const named = (headers: readonly string[]) => headers.map((name) => name.toLowerCase()).sort()
    const parameters = document.webhooks['message.responded']?.post.parameters ?? []
    const described = parameters.flatMap((header) =>
      'in' in header && header.required ? [header.name] : [],
    )
    for (const { headers } of sender.requests)
      expect(named(Object.keys(headers))).toEqual(named([...described, 'Content-Type']))
  })
})
