// Marks the link of the current section.
const section = `/${location.pathname.split('/')[1]}`;
for (const link of document.querySelectorAll('.top nav a')) {
  if (link.getAttribute('href') === section) link.ariaCurrent = 'page';
}
