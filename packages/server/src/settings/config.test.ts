import { describe, expect, it } from 'vitest'
import { parseConfig, readConfig, type Config } from './config.js'
import { configEnv, configMarkdown } from './config-docs.js'
import { environment } from './environment.js'

const HEX = 'ab'.repeat(32)
const good = (env: Record<string, string>): Config => parseConfig(env)._unsafeUnwrap()
const lines = (env: Record<string, string>): string[] => parseConfig(env)._unsafeUnwrapErr()

/** Wrong values of each variable. Error messages never show values of the second table. */
const WRONG: [string, string[]][] = [
  ['PORT', ['http', '65536', '-1', '3000.5', '3 000']],
  ['HOST', ['local host', 'http://localhost']],
  [
    'SERVICE_DATABASE_URL',
    [
      'data.db',
      'file:',
      'file:data.db?mode=ro',
      'file:///data.db?mode=ro',
      'file://otherhost/x.db',
      'file::memory:',
      'mysql://localhost/x',
      'postgres://localhost',
    ],
  ],
  ['SERVICE_DATABASE_DIRECT_URL', ['file:data.db', 'postgres://localhost', 'db.internal']],
  ['SERVICE_DATABASE_CONNECTIONS', ['1', '101', 'ten']],
  ['SERVICE_ENDPOINTS', ['openai,nothing', 'OpenAI', ',']],
  ['SERVICE_CONSOLE', ['yes', 'On', 'dev']],
  ['SERVICE_WEBHOOK_THREAD', ['yes', 'On', '1']],
  [
    'SERVICE_PUBLIC_URL',
    ['example.com', 'ftp://example.com', 'https://example.com/?a=1', 'https://example.com/#a'],
  ],
  ['SERVICE_SYNC_MESSAGE_TIMEOUT_MS', ['600001', '30s', '-1', '1e3']],
  ['SERVICE_IDEMPOTENCY_MISMATCH', ['Reuse', 'yes']],
  ['SERVICE_QUOTAS', ['yes', 'ON']],
  ['SERVICE_STRICT_EVENT_TYPES', ['yes']],
  ['SERVICE_PROJECT_MESSAGES_PER_MINUTE', ['0', '1.5', 'many']],
  ['SERVICE_KEY_MESSAGES_PER_MINUTE', ['0', '10000001']],
  ['SERVICE_PROJECT_EVENTS_PER_MINUTE', ['0', '10000001']],
  ['SERVICE_RUN_TIMEOUT_MS', ['99', '86400001']],
  ['SERVICE_SEND_QUEUE_MS', ['0', '600001', 'off']],
  ['SERVICE_RUN_LEASE_MS', ['999', 'long']],
  ['SERVICE_CALLBACK_TIMEOUT', ['999ms', '366d', '3600000', 'never']],
  ['SERVICE_WEBHOOK_DISABLE_AFTER', ['5', '59s', '366d', '5 days', '1h,2h']],
  [
    'SERVICE_WEBHOOK_RETRY_SCHEDULE',
    ['5', '5s,', '0s', '31d', '5 minutes', Array(51).fill('1s').join(',')],
  ],
  ['SERVICE_WEBHOOK_ALLOWED_CIDRS', ['10.0.0.0', '10.0.0.1/8', '10.0.0.0/33', 'fd00::/129', 'all']],
  ['SERVICE_WEBHOOK_MAX_CONCURRENCY', ['0', '1001', '1.5']],
  ['SERVICE_WEBHOOK_REQUESTS_PER_SECOND', ['0', '0.001', '10001', '1e2', '.5', 'fast']],
  ['SERVICE_EVENT_RETENTION', ['0', 'never', '3651d']],
  ['SERVICE_TRUSTED_PROXIES', ['10.0.0.1', 'all', '10.0.0.0/33']],
  ['SERVICE_DELIVERY_RETENTION', ['0', '999ms', '3651d', 'never', 'Off']],
  ['SERVICE_MESSAGE_RETENTION', ['30', '30days', '1d,2d']],
  ['SERVICE_CRON_BUDGET_MS', ['99', '10s']],
  ['SERVICE_METRICS_PORT', ['65536', 'yes']],
  ['SERVICE_DELIVERY_TIMEOUT_MS', ['99', '300001']],
  ['SERVICE_DELIVERY_LEASE_MS', ['999', '86400001']],
  ['SERVICE_PORTAL_NAME', ['a'.repeat(61)]],
  ['SERVICE_PORTAL_LOGO', ['logo.gif']],
  [
    'SERVICE_PORTAL_ACCENT',
    ['blue', '#3450c4', '#3450c4,#9db1f', '#9db1ff,#9db1ff', '#3450c4,#3450c4'],
  ],
  ['SERVICE_PORTAL_RETURN_ORIGINS', ['app.example.com', 'https://app.example.com/', 'https://a,']],
  ['SERVICE_PORTAL_FRAME_ORIGINS', ['*', 'https://app.example.com/page', 'javascript:0']],
  ['SERVICE_PORTAL_EVENTS', ['message.*', 'message.responded,', 'webhook.test']],
  ['SERVICE_CORS_ORIGINS', ['*', 'app.example.com', 'https://app.example.com/']],
  ['SERVICE_HEADER_PREFIX', ['X Service', 'X:Service', 'Ä']],
  ['SERVICE_LOG_LEVEL', ['verbose', 'INFO']],
  ['SERVICE_SHUTDOWN_GRACE_MS', ['3600001', '8s']],
]
const WRONG_SECRETS: [string, string[]][] = [
  ['SERVICE_OUTBOUND_PROXY', ['proxy:3128', 'socks5://proxy:1080', 'http://u:hunter2@proxy/path']],
  ['SERVICE_OTHER_MASTER_KEYS', ['short', `${HEX},`, `${HEX},${HEX}00`]],
  ['SERVICE_MASTER_KEY', ['short', `${HEX}00`, HEX.slice(2), `${HEX.slice(1)}g`]],
  [
    'CRON_SECRET',
    ['two words of length', 'a,b,c,d,e,f,g,h,i', 'üüüüüüüüüüüüüüüüü', 'fifteen-letters'],
  ],
  ['SERVICE_OPERATOR_KEY', ['two words of length', 'fifteen-letters']],
  ['SERVICE_METRICS_TOKEN', ['two words of length', 'fifteen-letters']],
  [
    'SERVICE_BOOTSTRAP_API_KEY',
    ['nineteen-characters', 'with a space in the middle of it', `amk_${'A'.repeat(38)}`],
  ],
]

describe('the configuration', () => {
  it('has defaults for all settings except secrets, addresses and paths', () => {
    expect(good({})).toEqual({
      port: 3000,
      host: '127.0.0.1',
      databaseConnections: 10,
      shutdownGraceMs: 8_000,
      cronBudgetMs: 10_000,
      portal: {},
      policy: expect.objectContaining({
        syncWaitMs: 30_000,
        onKeyMismatch: 'reuse',
        runLeaseMs: 30_000,
        headerPrefix: 'X-Service',
      }),
    })
  })

  it('has the published retry schedule by default', () => {
    expect(good({}).policy.retry?.delaysMs.map((ms) => ms / 1_000)).toEqual([
      5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
    ])
  })

  it('ignores white space around a value, such as the line break at the end of a secret file', () => {
    const masterKey = Buffer.alloc(32, 1)
    expect(
      good({
        PORT: ' 3001 ',
        SERVICE_DATABASE_URL: 'file:a.db\n',
        SERVICE_MASTER_KEY: `${masterKey.toString('base64')}\n`,
        HOST: '\n',
      }),
    ).toMatchObject({
      port: 3001,
      databasePath: 'a.db',
      masterKey,
      host: '127.0.0.1',
    })
  })

  it('throws the lines for wrong variables', () => {
    expect(readConfig({ PORT: '3001' }).port).toBe(3_001)
    expect(() => readConfig({ PORT: 'http', HOST: '\0' })).toThrow(/^PORT must be .*; got "http"$/m)
  })

  it('takes the option before the variable, unless the option is empty', () => {
    const ports = [{ PORT: '4000' }, { PORT: '' }, {}].map(
      (options) => parseConfig({ PORT: '3001' }, options)._unsafeUnwrap().port,
    )
    expect(ports).toEqual([4000, 3001, 3001])
    expect(parseConfig({ PORT: 'http' }, { PORT: '4000' }).isOk()).toBe(true)
    expect(parseConfig({ PORT: '3001' }, { PORT: 'http' })._unsafeUnwrapErr()).toEqual([
      '--port must be a port from 0 to 65535 (0 picks a free port); got "http"',
    ])
  })

  it('treats an empty variable as unset', () => {
    expect(good({ PORT: '', SERVICE_MASTER_KEY: '', CRON_SECRET: '' })).toEqual(good({}))
  })

  it.each([
    [{ PORT: '0' }, { port: 0 }],
    [{ HOST: '::1' }, { host: '::1' }],
    [{ SERVICE_DATABASE_URL: 'file:data/a.db' }, { databasePath: 'data/a.db' }],
    [{ SERVICE_DATABASE_URL: 'file:/var/a b.db' }, { databasePath: '/var/a b.db' }],
    [{ SERVICE_DATABASE_URL: 'file:///var/a%20b.db' }, { databasePath: '/var/a b.db' }],
    [
      { SERVICE_DATABASE_URL: 'postgres://user:pw@db:5432/app' },
      { databasePath: 'postgres://user:pw@db:5432/app' },
    ],
    [
      { SERVICE_DATABASE_URL: 'postgresql:///app?host=/run/postgresql' },
      { databasePath: 'postgresql:///app?host=/run/postgresql' },
    ],
    [{ SERVICE_MASTER_KEY: HEX }, { masterKey: Buffer.from(HEX, 'hex') }],
    [
      { SERVICE_MASTER_KEY: Buffer.from(HEX, 'hex').toString('base64') },
      { masterKey: Buffer.from(HEX, 'hex') },
    ],
    [
      { SERVICE_MASTER_KEY: Buffer.from(HEX, 'hex').toString('base64url') },
      { masterKey: Buffer.from(HEX, 'hex') },
    ],
    [{ SERVICE_OTHER_MASTER_KEYS: HEX }, { otherMasterKeys: [Buffer.from(HEX, 'hex')] }],
    [
      { SERVICE_OTHER_MASTER_KEYS: `${HEX}, ${'0'.repeat(64)}` },
      { otherMasterKeys: [Buffer.from(HEX, 'hex'), Buffer.alloc(32)] },
    ],
    [
      { SERVICE_PUBLIC_URL: 'https://example.com/base/' },
      { publicUrl: 'https://example.com/base' },
    ],
    [
      { SERVICE_WEBHOOK_ALLOWED_CIDRS: '10.1.0.0/16, ::1/128' },
      { allowedCidrs: ['10.1.0.0/16', '::1/128'] },
    ],
    [{ CRON_SECRET: 'sixteen-letters!' }, { cronSecret: 'sixteen-letters!' }],
    [{ SERVICE_OPERATOR_KEY: 'sixteen-letters!' }, { operatorKey: 'sixteen-letters!' }],
    [
      { SERVICE_WEBHOOK_MAX_CONCURRENCY: '4', SERVICE_WEBHOOK_REQUESTS_PER_SECOND: '0.5' },
      { policy: { deliver: { maxConcurrency: 4, requestsPerSecond: 0.5 } } },
    ],
    [{ SERVICE_TRUSTED_PROXIES: '10.0.0.0/8' }, { trustedProxies: ['10.0.0.0/8'] }],
    [{ SERVICE_CRON_BUDGET_MS: '500' }, { cronBudgetMs: 500 }],
    [
      { SERVICE_METRICS_TOKEN: 'sixteen-letters!', SERVICE_METRICS_PORT: '9090' },
      { metricsToken: 'sixteen-letters!', metricsPort: 9_090 },
    ],
    [{ SERVICE_DELIVERY_RETENTION: 'off' }, { policy: { retention: { deliveriesMs: Infinity } } }],
    [
      { SERVICE_BOOTSTRAP_API_KEY: 'a-key-of-twenty-chars' },
      { bootstrapApiKey: 'a-key-of-twenty-chars' },
    ],
    [{ SERVICE_LOG_LEVEL: 'silent' }, { logLevel: 'silent' }],
  ])('parses %j', (env, expected) => {
    expect(good(env)).toMatchObject(expected)
  })

  it('converts numbers and choices into the policy of the service', () => {
    const { policy } = good({
      SERVICE_SYNC_MESSAGE_TIMEOUT_MS: '0',
      SERVICE_IDEMPOTENCY_MISMATCH: 'reject',
      SERVICE_STRICT_EVENT_TYPES: 'on',
      SERVICE_RUN_TIMEOUT_MS: '2000',
      SERVICE_RUN_LEASE_MS: '1000',
      SERVICE_CALLBACK_TIMEOUT: '3d',
      SERVICE_WEBHOOK_RETRY_SCHEDULE: '100ms, 5s,2m,1h,1d',
      SERVICE_WEBHOOK_DISABLE_AFTER: '2d',
      SERVICE_DELIVERY_RETENTION: '12h',
      SERVICE_EVENT_RETENTION: '2d',
      SERVICE_DELIVERY_TIMEOUT_MS: '500',
      SERVICE_DELIVERY_LEASE_MS: '1500',
      SERVICE_HEADER_PREFIX: 'X-Acme',
    })
    expect(policy).toMatchObject({
      syncWaitMs: 0,
      onKeyMismatch: 'reject',
      strictEventTypes: true,
      runLeaseMs: 1_000,
      headerPrefix: 'X-Acme',
    })
    expect(policy.dispatch).toMatchObject({
      runTimeoutMs: 2_000,
      deferredTimeoutMs: 3 * 86_400_000,
    })
    expect(policy.retry?.delaysMs).toEqual([100, 5_000, 120_000, 3_600_000, 86_400_000])
    expect(policy.webhookHealth).toMatchObject({ disableAfterMs: 2 * 86_400_000, openFailures: 15 })
    expect(policy.retention).toEqual({
      deliveriesMs: 12 * 3_600_000,
      messagesMs: Infinity,
      eventsMs: 2 * 86_400_000,
    })
    expect(policy.deliver).toMatchObject({ deadlineMs: 500, leaseMs: 1_500 })
  })

  it.each(WRONG)(
    'rejects a wrong %s with one line that shows the allowed values and the wrong one',
    (name, values) => {
      for (const value of values) {
        expect(lines({ [name]: value })).toEqual([
          expect.stringMatching(new RegExp(`^${name} must be .+; got ".*"(: ".*" .*)?$`)),
        ])
      }
    },
  )

  it.each(WRONG_SECRETS)('rejects a wrong %s without showing the value', (name, values) => {
    for (const value of values) {
      const [line = '', ...others] = lines({ [name]: value })
      expect(others).toEqual([])
      expect(line).toContain(`; got ${value.length} characters (not shown)`)
      expect(line).not.toContain(value)
    }
  })

  it('is tested with wrong values of every variable', () => {
    expect([...WRONG, ...WRONG_SECRETS].map(([name]) => name).sort()).toEqual(
      Object.keys(environment.shape).sort(),
    )
  })

  it.each([
    'postgres://user:hunter2@db',
    'postgres:user:hunter2@db/app',
    'mysql://db/app?user=user&password=hunter2&a=b',
  ])('hides the password of a wrong URL: %s', (url) => {
    const [line] = lines({ SERVICE_DATABASE_URL: url })
    expect(line).toContain('; got "')
    expect(line).not.toContain('hunter2')
  })

  it('shows a wrong value on one line and shortens it', () => {
    expect(lines({ PORT: 'a\nb' })).toEqual([expect.stringContaining('; got "a\\nb"')])
    expect(lines({ PORT: 'x'.repeat(500) })[0]?.length).toBeLessThan(200)
  })

  it('reports all wrong variables at once', () => {
    expect(lines({ PORT: 'x', CRON_SECRET: 'a b', SERVICE_LOG_LEVEL: 'loud' })).toHaveLength(3)
  })

  it('rejects a delivery lease that is not longer than the timeout of an attempt', () => {
    expect(
      lines({ SERVICE_DELIVERY_TIMEOUT_MS: '30000', SERVICE_DELIVERY_LEASE_MS: '30000' }),
    ).toEqual([
      'SERVICE_DELIVERY_LEASE_MS must exceed SERVICE_DELIVERY_TIMEOUT_MS (30000); got 30000',
    ])
  })
})

describe('the documentation of the configuration', () => {
  it('has a table row with the default of every variable', () => {
    const table = configMarkdown()
    for (const name of Object.keys(environment.shape)) expect(table).toContain(`| \`${name}\` | `)
    expect(table).toContain('`30000` |')
    expect(table).toContain('`5s,5m,30m,2h,5h,10h,14h,20h,24h` |')
  })

  it('has an .env file whose lines set the defaults', () => {
    const assigned = [...configEnv().matchAll(/^# ([A-Z_]+)=(.*)$/gm)].map(
      ([, name = '', value = '']) => [name, value],
    )
    expect(assigned.map(([name]) => name)).toEqual(Object.keys(environment.shape))
    expect(good(Object.fromEntries(assigned) as Record<string, string>)).toEqual(good({}))
  })
})

it('explains a wrong target_session_attrs, and accepts several hosts', () => {
  const SERVICE_DATABASE_URL = 'postgres://me:hush@a:5432,[::1]:5432/app?target_session_attrs='
  const [line] = lines({ SERVICE_DATABASE_URL: `${SERVICE_DATABASE_URL}standby` })
  expect(line).toContain('target_session_attrs is "standby"; use any or read-write')
  expect(line).not.toContain('hush')
  const errors = parseConfig({ SERVICE_DATABASE_URL: `${SERVICE_DATABASE_URL}read-write` })
  expect(JSON.stringify(errors)).not.toContain('SERVICE_DATABASE_URL must')
})
