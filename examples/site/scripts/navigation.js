// Marks the link of the section that the page belongs to.
const section = `/${location.pathname.split('/')[1]}`;
for (const link of document.querySelectorAll('.top nav a')) {
  if (link.getAttribute('href') === section) link.ariaCurrent = 'page';
}
