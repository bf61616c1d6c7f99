// Builds the app, checks it as a host, and looks at its page in Chromium. Then edits a function
// while `next dev` runs. Installs packed packages and Next.js into a temporary folder, because this
// repository contains `pg`.
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { chromium } from 'playwright-core'
import { chromiumOptions, chromiumPath } from '../../scripts/chromium.mjs'
import { freePort } from '../../scripts/free-port.mjs'
import { installEmbedded } from '../../scripts/packed.mjs'
import { LIMIT_MS, Programs, run } from '../../scripts/programs.mjs'
import { answerOf, asUser, checkHost, startedRun } from '../check-host.mjs'

const here = import.meta.dirname
const { peerDependencies } = JSON.parse(readFileSync(path.join(here, 'package.json'), 'utf8'))
const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NEXT_MANUAL_SIG_HANDLE: 'true' }
const NEXT = 'node_modules/next/dist/bin/next'

const folder = mkdtempSync(path.join(tmpdir(), 'embed-in-next-'))
const programs = new Programs()
try {
  const home = installEmbedded(folder, peerDependencies)
  for (const part of ['app', 'lib', 'instrumentation.js', 'next.config.js'])
    cpSync(path.join(here, part), path.join(home, part), { recursive: true })
  run(home, process.execPath, [NEXT, 'build'], env)
  await checkHost(`node ${NEXT} start --hostname 127.0.0.1 --port $PORT`, { cwd: home, env })
  await checkDevelopment(home)
} finally {
  await programs.endAll()
  rmSync(folder, { recursive: true, force: true })
}
console.log('The page goes on after a reload. An edited function serves the next run.')

async function checkDevelopment(home) {
  const file = path.join(home, 'lib/messaging.js')
  const opened = 'the service opens'
  edit(file, 'async function open() {', `$& console.log('${opened}');`)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const command = `exec node ${NEXT} dev --hostname 127.0.0.1 --port ${port}`
  const server = programs.start(home, command, { ...env, DATABASE: 'file:dev.db' })
  await programs.until('next dev starts', async () => (await fetch(url)).ok)
  await checkPage(url)
  await checkEdit(home, asUser(url, 'ada'))
  assert.equal(server.printed.split(opened).length, 2, server.printed)
}

/** Opens the page again while the answer is written. */
async function checkPage(url) {
  if (!chromiumPath()) {
    assert.notEqual(process.env.CI_STRICT, '1', 'Chromium is missing.')
    return console.log('The page was not checked: Chromium is missing.')
  }
  const browser = await chromium.launch(chromiumOptions())
  try {
    const page = await browser.newPage()
    await page.context().addCookies([{ name: 'login', value: 'ada-secret', url }])
    await page.goto(url)
    const message = `${'word '.repeat(40)}end`
    await page.getByLabel('Message').fill(message)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('Agent: You said: word').waitFor({ timeout: LIMIT_MS })
    await page.reload()
    await page.getByText(`Agent: You said: ${message}`).waitFor({ timeout: LIMIT_MS })
  } finally {
    await browser.close()
  }
}

/** A run that has begun goes on with the earlier function. */
async function checkEdit(home, ada) {
  const message = 'word '.repeat(40)
  const { messageId } = await startedRun(ada, message)
  edit(path.join(home, 'lib/agents.js'), 'You said', 'You wrote')
  const hello = { sessionId: 'ada/2', message: 'Hello' }
  await programs.until('the edited function answers', async () => {
    const { response } = await ada.messages.send('assistant', hello)
    return response === 'You wrote: Hello'
  })
  assert.equal(await answerOf(ada, messageId), `You said: ${message}`)
}

function edit(file, from, to) {
  writeFileSync(file, readFileSync(file, 'utf8').replace(from, to))
}
