// Makes CHANGELOG.md from changesets. `scripts/release.mjs version` writes it.
const INTRO = `# Changelog

This page lists the changes that an operator or a developer must know before an upgrade. All
packages have one version. \`node scripts/release.mjs version\` makes a section from \`.changeset/\`.
`
const BUMPS = ['major', 'minor', 'patch']

/** The page until the first release. */
export const UNRELEASED = `${INTRO}
Nothing is released yet.
`

/** Returns the page with the section of a new release above the earlier sections. */
export function withRelease(page, version, changesets) {
  const [, ...earlier] = page.split(/^(?=## )/m)
  const read = changesets.map(readChangeset)
  const parts = BUMPS.map((bump) => partOf(bump, read)).filter((part) => part !== '')
  return [`${INTRO}\n`, `## ${version}\n\n${parts.join('\n')}`, ...earlier.map((one) => `\n${one}`)]
    .join('')
    .replaceAll(/\n{3,}/g, '\n\n')
}

function partOf(bump, changesets) {
  const items = changesets.filter((one) => one.bump === bump).map(({ text }) => listItem(text))
  return items.length === 0
    ? ''
    : `### ${bump[0].toUpperCase()}${bump.slice(1)} changes\n\n${items.join('')}`
}

const listItem = (text) => `- ${text.replaceAll(/\n(?=.)/g, '\n  ')}\n`

/** The largest bump of its packages is that of the changeset. */
function readChangeset(changeset) {
  const [, bumps, text] = /^---\n(.*?)^---\n(.*)/ms.exec(changeset)
  return { bump: BUMPS.find((bump) => bumps.includes(`: ${bump}\n`)), text: text.trim() }
}
