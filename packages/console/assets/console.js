// The pages work without this script, except for copying and live updates.
const showCopyButtons = () => {
  for (const button of document.querySelectorAll('[data-copy][hidden]')) button.hidden = false
}

const showCopied = (button) => {
  button.classList.add('copied')
  setTimeout(() => button.classList.remove('copied'), 1200)
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-copy]')
  if (button) void navigator.clipboard.writeText(button.dataset.copy).then(() => showCopied(button))
})

// Replaces the address of a form's result. Otherwise a reload would send the form again.
const { address } = document.querySelector('[data-address]')?.dataset ?? {}
if (address) history.replaceState(null, '', address)

// Skips the update of a part that has open details, selected text or the focus. A page in the
// background is not updated either.
document.addEventListener('htmx:beforeRequest', (event) => {
  const part = event.detail.elt
  const isInUse = part.querySelector('details[open], :focus-visible') !== null || hasSelection(part)
  if (part.id === 'live' && (isInUse || document.hidden)) event.preventDefault()
})

const hasSelection = (part) => {
  const selection = getSelection()
  return selection !== null && !selection.isCollapsed && selection.containsNode(part, true)
}

// Shows that the page is stale while the server does not respond.
const stale = document.createElement('p')
stale.className = 'problem'
stale.role = 'alert'

const showStale = () => {
  if (stale.isConnected) return
  stale.textContent = `Not updated since ${new Date().toLocaleTimeString()}: the server does not respond.`
  document.querySelector('main').prepend(stale)
}
document.addEventListener('htmx:sendError', showStale)
document.addEventListener('htmx:responseError', showStale)
document.addEventListener('htmx:afterSwap', () => stale.remove())

// Screen readers read out each new answer, not the whole updated conversation.
const answerTexts = () =>
  [...document.querySelectorAll('.answered .said')].map((answer) => answer.textContent)
let announced = answerTexts().length

document.addEventListener('htmx:afterSettle', () => {
  showCopyButtons()
  const all = answerTexts()
  const news = document.getElementById('news')
  if (news && all.length > announced) news.textContent = all.at(-1)
  announced = all.length
})
showCopyButtons()
