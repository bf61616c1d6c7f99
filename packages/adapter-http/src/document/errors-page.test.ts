import { codeByKind, errorCodes, type HttpError } from '@org/agent-messaging-http-kit'
import { expect, it } from 'vitest'
import { exampleOf } from './errors.js'

const INTRODUCTION = `# Errors

This page explains each error code: the cause and the remedy. A running server shows the same text
at \`/docs\`. Each error response links there with a \`Link\` header (\`rel="help"\`).

\`\`\`
HTTP/1.1 404 Not Found
Link: </docs#error-NOT_FOUND>; rel="help"

{"error":{"code":"NOT_FOUND","message":"No such agent"},"requestId":"0198b2c4-6f0e-7a1b-8c2d-3e4f5a6b7c8d"}
\`\`\`

Programs use \`code\`. \`message\` is for people and can change. \`issues\` names the wrong fields of a
request. The \`requestId\` finds the request in the log of the server.

Each code stands for the kinds of errors below it. A program that embeds the service gets the kind.
The messages are examples.`

const kinds = Object.keys(codeByKind) as HttpError['kind'][]

type Help = { readonly status: number; readonly cause: string; readonly remedy: string }

function sectionOf([code, { status, cause, remedy }]: [string, Help]): string {
  const list = kinds
    .filter((kind) => codeByKind[kind] === code)
    .map((kind) => wrapped(`- \`${kind}\`: ${escaped(exampleOf(kind).message)}`, '  '))
  return [
    `## ${code}`,
    `Status ${status}.`,
    wrapped(`**Cause.** ${cause}`),
    wrapped(`**Remedy.** ${remedy}`),
    list.join('\n'),
  ].join('\n\n')
}

/** Keeps Markdown from reading `<token>` as an HTML element. */
const escaped = (text: string): string => text.replaceAll('<', '\\<')

/** Breaks a paragraph into lines of at most 100 columns. */
const wrapped = (text: string, indent = ''): string =>
  text.split(' ').reduce((lines, word) => {
    const last = lines.slice(lines.lastIndexOf('\n') + 1)
    return last.length + word.length < 100 ? `${lines} ${word}` : `${lines}\n${indent}${word}`
  })

it('docs/errors.md has the words of every error. `vitest -u` with this file writes the page', async () => {
  const sections = Object.entries(errorCodes).map(sectionOf)
  const page = `${[INTRODUCTION, ...sections].join('\n\n')}\n`
  await expect(page).toMatchFileSnapshot('../../../../docs/errors.md')
})
